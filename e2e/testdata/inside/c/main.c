#include "servers.h"

int main(void) {
	blocking();
	puts("blocking connect");
	nonblocking(0);
	puts("epoll after connect");
	sockets();
	puts("unix sockets");
	nonblocking(1);
	puts("epoll before connect");
	return 0;
}
