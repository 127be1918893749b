#include <pthread.h>

#include "servers.h"

struct job { int fd, n; };

static void *answer(void *arg) {
	struct job *j = arg;
	for (int i = 0; i < j->n; i++) {
		int c = accept(j->fd, NULL, NULL);
		NEED(c >= 0);
		NEED(write(c, "hello", 5) == 5);
		close(c);
	}
	close(j->fd);
	free(j);
	return NULL;
}

struct sockaddr_in to(int port) {
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	return a;
}

int serve(int n) {
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in a = to(0);
	socklen_t size = sizeof a;
	NEED(fd >= 0 && bind(fd, (void *)&a, sizeof a) == 0 && listen(fd, 64) == 0 && getsockname(fd, (void *)&a, &size) == 0);
	struct job *j = malloc(sizeof *j);
	*j = (struct job){fd, n};
	pthread_t t;
	NEED(pthread_create(&t, NULL, answer, j) == 0 && pthread_detach(t) == 0);
	return ntohs(a.sin_port);
}

void greeted(int fd) {
	char b[16] = "";
	int n = 0, r;
	while ((r = read(fd, b + n, sizeof b - 1 - n)) > 0) n += r;
	NEED(strcmp(b, "hello") == 0);
	close(fd);
}

static void *call(void *arg) {
	struct sockaddr_in a = to(*(int *)arg);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	NEED(fd >= 0 && connect(fd, (void *)&a, sizeof a) == 0);
	greeted(fd);
	return NULL;
}

void blocking(void) {
	enum { callers = 32 };
	int port = serve(callers);
	pthread_t t[callers];
	for (int i = 0; i < callers; i++) NEED(pthread_create(&t[i], NULL, call, &port) == 0);
	for (int i = 0; i < callers; i++) NEED(pthread_join(t[i], NULL) == 0);
}
