set -eu
mkdir -p "$HOME/.cache" out
cp -R /opt/go-cache "$HOME/.cache/go-build"
export GOTOOLCHAIN=local

go vet ./...
go test -count=1 ./...
go build -o out/shop ./cmd/shop
./out/shop | grep -q 'hello from /main'

# A module through the proxy, and one that is not to be had.
cd uses
export GOFLAGS=-mod=mod GONOSUMDB='*' GOPROXY="$PACKAGES/go"
go mod download
go run . | grep -q 'hello from a module'
go clean -modcache
if GOPROXY=http://refused.test/go go mod download 2>../out/refused; then
	echo "a module came from refused.test"
	exit 1
fi
grep 'refused.test:80: not in allowed-hosts' ../out/refused
