/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A program with its own dlopen(), like haproxy. For the dynamic linker every
 * library is then opened by the program, with the program's search path. It
 * sends a stream to itself.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SIZE 1000000

static char octets[SIZE], back[SIZE];

__attribute__((visibility("default"))) void *dlopen(const char *name, int mode)
{
	void *(*next)(const char *name, int mode);

	*(void **)&next = dlsym(RTLD_NEXT, "dlopen");
	return next(name, mode);
}

static void must(int is_good, const char *what)
{
	if (is_good)
		return;
	perror(what);
	exit(1);
}

static void *send_main(void *arg)
{
	int fd = *(int *)arg;

	must(send(fd, octets, SIZE, 0) == SIZE, "send");
	return NULL;
}

int main(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int client = socket(AF_INET, SOCK_STREAM, 0), server;
	pthread_t sender;

	for (int i = 0; i < SIZE; i++)
		octets[i] = (char)(i % 251);
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must(bind(listener, (struct sockaddr *)&addr, len) == 0, "bind");
	must(listen(listener, 1) == 0, "listen");
	must(getsockname(listener, (struct sockaddr *)&addr, &len) == 0,
	     "getsockname");
	must(connect(client, (struct sockaddr *)&addr, len) == 0, "connect");
	server = accept(listener, NULL, NULL);
	must(server >= 0, "accept");
	must(pthread_create(&sender, NULL, send_main, &client) == 0, "thread");
	must(recv(server, back, SIZE, MSG_WAITALL) == SIZE, "recv");
	must(memcmp(octets, back, SIZE) == 0, "received other octets");
	pthread_join(sender, NULL);
	puts("all came");
	return 0;
}
