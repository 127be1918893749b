#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NEED(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #what, strerror(errno)); \
			exit(1); \
		} \
	} while (0)

/* serve listens on loopback and gives "hello" to n callers from a thread; the
 * port is the result. */
int serve(int n);
/* to is the address of a port on loopback. */
struct sockaddr_in to(int port);
/* greeted reads "hello" and closes. */
void greeted(int fd);

void blocking(void);
void nonblocking(int early);
void sockets(void);
