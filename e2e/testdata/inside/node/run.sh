set -eu
mkdir -p out
export npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false
npm install --registry "$PACKAGES/npm/"
rm -rf node_modules
npm ci
npm test
if npm view greeting --fetch-retries=0 --registry http://refused.test/ >out/refused 2>&1; then
	echo "a package came from refused.test"
	exit 1
fi
grep 403 out/refused
# fetch goes through the proxy, too.
node -e '
const [allowed, refused] = process.argv.slice(1);
(async () => {
  console.assert((await fetch(allowed)).ok);
  const error = await fetch(refused).then((res) => new Error(res.status), (e) => e);
  console.log("refused:", error.message, error.cause?.cause?.message ?? error.cause?.message);
})();
' "$PACKAGES/npm/greeting" https://refused.test/
