set -eu
mkdir -p out
python3 -m unittest
python3 -m venv --without-pip out/venv
python3 -m pip --python out/venv/bin/python install --quiet --disable-pip-version-check \
	--index-url "$PACKAGES/pip/simple" --trusted-host packages.test greeting
[ "$(out/venv/bin/python -c 'import greeting; print(greeting.text)')" = hello ]
if python3 -m pip --python out/venv/bin/python download --quiet --disable-pip-version-check --retries 0 -d out \
	--index-url http://refused.test/simple --trusted-host refused.test greeting >out/refused 2>&1; then
	echo "a package came from refused.test"
	exit 1
fi
cat out/refused
