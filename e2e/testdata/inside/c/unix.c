#include <sys/un.h>

#include "servers.h"

/* sockets: a listener below TMPDIR and one in the working directory, and a pair. */
void sockets(void) {
	const char *dirs[] = {getenv("TMPDIR"), "."};
	for (int i = 0; i < 2; i++) {
		struct sockaddr_un a = {.sun_family = AF_UNIX};
		snprintf(a.sun_path, sizeof a.sun_path, "%s/servers.sock", dirs[i]);
		int l = socket(AF_UNIX, SOCK_STREAM, 0), c = socket(AF_UNIX, SOCK_STREAM, 0);
		NEED(l >= 0 && c >= 0 && bind(l, (void *)&a, sizeof a) == 0 && listen(l, 1) == 0);
		NEED(connect(c, (void *)&a, sizeof a) == 0);
		int s = accept(l, NULL, NULL);
		NEED(s >= 0 && write(s, "hello", 5) == 5 && close(s) == 0);
		greeted(c);
		close(l);
		unlink(a.sun_path);
	}
	int pair[2];
	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && write(pair[0], "hello", 5) == 5 && close(pair[0]) == 0);
	greeted(pair[1]);
}
