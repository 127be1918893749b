#include <fcntl.h>
#include <sys/epoll.h>

#include "servers.h"

/* nonblocking connects without waiting, and learns the end from epoll, which is
 * told of the socket early, before the connect, as nginx and Asio do it, or
 * after it. */
void nonblocking(int early) {
	struct sockaddr_in a = to(serve(1));
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), set = epoll_create1(EPOLL_CLOEXEC);
	NEED(fd >= 0 && set >= 0);
	struct epoll_event e = {.events = EPOLLOUT | EPOLLET, .data.fd = fd};
	if (early) NEED(epoll_ctl(set, EPOLL_CTL_ADD, fd, &e) == 0);
	int r = connect(fd, (void *)&a, sizeof a);
	NEED(r == 0 || errno == EINPROGRESS);
	NEED(epoll_ctl(set, early ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &e) == 0);
	NEED(epoll_wait(set, &e, 1, 10000) == 1 && e.data.fd == fd);
	int error = -1;
	socklen_t size = sizeof error;
	NEED(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0);
	NEED(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) == 0);
	greeted(fd);
	close(set);
}
