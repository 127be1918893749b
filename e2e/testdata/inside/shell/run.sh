set -eu
say() { echo "== $*"; }
mkdir -p out
cd out

say "a server of its own, and curl"
python3 -u -m http.server 0 --bind 127.0.0.1 >server 2>&1 &
server=$!
port=
for _ in $(seq 100); do
	port=$(sed -n 's/^Serving HTTP on .* port \([0-9]*\) .*/\1/p' server)
	[ -n "$port" ] && break
	sleep 0.1
done
for host in 127.0.0.1 localhost 0.0.0.0; do
	curl -sSf -o /dev/null "http://$host:$port/"
done
kill "$server"
wait "$server" || [ $? = 143 ]

say "an allowed host, by name"
curl -sSf "$PACKAGES/npm/greeting" | grep -q dist-tags

say "refused hosts"
curl -sS http://refused.test/ | grep 'refused.test:80: not in allowed-hosts'
code=0
curl -sS https://refused.test/ 2>why || code=$?
[ "$code" = 56 ] && grep 'CONNECT tunnel failed, response 403' why
code=0
curl -sS --noproxy '*' -m 10 "$PACKAGES/" 2>why || code=$?
[ "$code" = 7 ] && cat why

say "processes, terminals, pipes, files"
mkfifo pipe && { echo through >pipe & } && [ "$(cat pipe)" = through ]
[ "$(script -qec tty /dev/null | tr -d '\r')" = /dev/pts/0 ]
sleep 60 &
kill %1 && { wait %1 || [ $? = 143 ]; }
setsid sleep 60 &
pkill -f 'sleep 60' || true
ps -e >/dev/null
[ "$(stat -c %a "$(mktemp -d)")" = 700 ] && mktemp >/dev/null
echo x >/dev/null && head -c 10 /dev/urandom >/dev/null && echo x >/dev/shm/mine && rm /dev/shm/mine
(exec 3<>/dev/ptmx)
diff <(echo a) <(echo a)
cat <<<"a here document" >/dev/null
[ "$(locale charmap 2>/dev/null)" ]
[ "$(sqlite3 my.db 'pragma journal_mode=wal; create table a (b); insert into a values (1); select b from a')" = "wal
1" ]
tar -cf - my.db | gzip | gunzip | tar -tf - >/dev/null
xargs -P 4 -n 1 sh -c 'test "$0"' <<<"1 2 3 4 5 6 7 8"
timeout 5 true && nice -n 5 true && nohup true >/dev/null 2>&1
