#!/bin/sh
# Checks greet.sh. Exits with 1 when a check fails.

cd "$(dirname "$0")" || exit 1
failed=0

check() { # check WHAT WANT ARGUMENT...
	what=$1 want=$2
	shift 2
	got=$(sh ./greet.sh "$@")
	if [ "$got" = "$want" ]; then
		echo "ok      $what"
	else
		echo "FAILED  $what: got '$got', want '$want'"
		failed=1
	fi
}

check 'a name'             'Hello, Ada!'          Ada
check 'a name with spaces' 'Hello, Ada Lovelace!' 'Ada Lovelace'
check 'no name'            'Hello, World!'
check 'an empty name'      'Hello, World!'        ''

exit $failed
