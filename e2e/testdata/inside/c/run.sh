set -eu
make -j 4 check
make clean >/dev/null
