/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Invalid arguments: bad memory, bad descriptors, bad lengths. */
#include "cases.h"

#include <sys/mman.h>

/* volatile, because the compiler would warn of such an address. */
static void *volatile nowhere = (void *)16;
static void *volatile null;

static void bad_memory_send(void)
{
	struct pair pair = pair_used();
	struct iovec vec = { nowhere, 10 };
	struct msghdr message = { .msg_iov = &vec, .msg_iovlen = 1 };

	SHOW("send", send(pair.client, nowhere, 10, 0));
	SHOW("write", write(pair.client, nowhere, 10));
	SHOW("writev", writev(pair.client, &vec, 1));
	SHOW("sendmsg", sendmsg(pair.client, &message, 0));
	SHOW("sendmsg, bad header", sendmsg(pair.client, nowhere, 0));
	SHOW("writev, bad vector", writev(pair.client, nowhere, 1));
	send_text(pair.client, "intact");
	show_recv("the stream", pair.server, 20, 0);
}

static void bad_memory_large(void)
{
	struct pair pair = pair_used();

	SHOW("send", send(pair.client, nowhere, 1 << 20, 0));
	send_text(pair.client, "intact");
	show_recv("the stream", pair.server, 20, 0);
}

static void bad_memory_recv(void)
{
	struct pair pair = pair_used();
	struct iovec vec = { nowhere, 10 };
	struct msghdr message = { .msg_iov = &vec, .msg_iovlen = 1 };

	send_text(pair.client, "intact");
	wait_octets(pair.server, 6);
	SHOW("recv", recv(pair.server, nowhere, 10, 0));
	SHOW("read", read(pair.server, nowhere, 10));
	SHOW("readv", readv(pair.server, &vec, 1));
	SHOW("recvmsg", recvmsg(pair.server, &message, 0));
	SHOW("recvmsg, bad header", recvmsg(pair.server, nowhere, 0));
	show_recv("the stream", pair.server, 20, 0);
}

static void bad_memory_poll(void)
{
	SHOW("poll", poll(nowhere, 1, 0));
}

/* The memory was registered, and is gone. */
static void bad_memory_again(void)
{
	enum { SIZE = 1 << 20 };
	pid_t pid;
	int fd = child_dial(echo, &pid);
	void *octets = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(octets != MAP_FAILED);
	SHOW("send", send(fd, octets, 100, 0));
	SHOW("recv", recv(fd, octets, 100, MSG_WAITALL));
	NEED(munmap(octets, SIZE) == 0);
	SHOW("send again", send(fd, octets, 100, 0));
	close(fd);
	child_end(pid);
}

static void recv_main(void *arg)
{
	SHOW("the sleeping recv", recv(*(int *)arg, nowhere, 10, 0));
}

/* Nothing has arrived yet: the memory is invalid when octets arrive. */
static void bad_memory_sleeping(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, recv_main, &pair.server);
	send_text(pair.client, "intact");
	sleeper_end(&sleeper);
	show_recv("the stream", pair.server, 20, 0);
}

static void bad_memory_at_end(void)
{
	struct pair pair = pair_used();

	close(pair.client);
	SHOW("recv at the end", recv(pair.server, nowhere, 10, 0));
}

static void read_only_memory(void)
{
	struct pair pair = pair_used();
	char *octets =
		mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(octets != MAP_FAILED);
	send_text(pair.client, "intact");
	wait_octets(pair.server, 6);
	SHOW("recv to read-only memory", recv(pair.server, octets, 10, 0));
	show_recv("the stream", pair.server, 20, 0);
	SHOW("send of it", send(pair.server, octets, 10, 0));
	SHOW("recv", recv(pair.client, (char[20]){ 0 }, 20, 0));
}

static void memory_half_there(void)
{
	struct pair pair = pair_used();
	char *octets = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(octets != MAP_FAILED);
	NEED(munmap(octets + 4096, 4096) == 0);
	/* recv() writes only as many octets as it has. */
	send_text(pair.client, "intact");
	wait_octets(pair.server, 6);
	SHOW("recv to memory that is half there",
	     recv(pair.server, octets + 4000, 4096, 0));
	say("%s", octets + 4000);
}

/* The most frequent invalid address. */
static void null_memory(void)
{
	struct pair pair = pair_used();
	struct iovec vec = { null, 10 };

	SHOW("send", send(pair.client, null, 10, 0));
	SHOW("writev", writev(pair.client, &vec, 1));
	SHOW("writev, no vector", writev(pair.client, null, 1));
	SHOW("sendmsg, no header", sendmsg(pair.client, null, 0));
	SHOW("setsockopt",
	     setsockopt(pair.client, IPPROTO_TCP, TCP_NODELAY, null, 4));
	SHOW("getsockopt",
	     getsockopt(pair.client, IPPROTO_TCP, TCP_NODELAY, null, null));
	SHOW("getsockname", getsockname(pair.client, null, null));
	SHOW("connect", connect(pair.client, null, 16));
	send_text(pair.client, "intact");
	wait_octets(pair.server, 6);
	SHOW("recv", recv(pair.server, null, 10, 0));
	SHOW("readv, no vector", readv(pair.server, null, 1));
	SHOW("recvmsg, no header", recvmsg(pair.server, null, 0));
	show_recv("the stream", pair.server, 20, 0);
}

static void bad_descriptors(void)
{
	struct pollfd look = { .fd = 499, .events = POLLIN };
	struct iovec vec = { "x", 1 };
	struct msghdr message = { .msg_iov = &vec, .msg_iovlen = 1 };
	struct mmsghdr many = { .msg_hdr = message };
	char octet;

	SHOW("send", send(499, "x", 1, 0));
	SHOW("recv", recv(499, &octet, 1, 0));
	SHOW("read", read(499, &octet, 1));
	SHOW("write", write(499, "x", 1));
	SHOW("writev", writev(499, &vec, 1));
	SHOW("sendmsg", sendmsg(499, &message, 0));
	SHOW("recvmsg", recvmsg(499, &message, 0));
	SHOW("sendmmsg", sendmmsg(499, &many, 1, 0));
	SHOW("recvmmsg", recvmmsg(499, &many, 1, 0, NULL));
	SHOW("shutdown", shutdown(499, SHUT_WR));
	SHOW("close", close(499));
	SHOW("close of -1", close(-1));
	SHOW("dup", dup(499));
	SHOW("dup2 of it", dup2(499, 498));
	SHOW("dup2 to -1", dup2(0, -1));
	SHOW("fcntl", fcntl(499, F_GETFL));
	SHOW("close_range, wrong way round", close_range(20, 10, 0));
	SHOW("poll", poll(&look, 1, 0));
	SHOW("-1: send", send(-1, "x", 1, 0));
	SHOW("a very large number: send", send(0x7fffffff, "x", 1, 0));
}

static void not_sockets(void)
{
	int pipes[2];
	char octet;

	NEED(pipe(pipes) == 0);
	SHOW("send", send(pipes[1], "x", 1, 0));
	SHOW("recv", recv(pipes[0], &octet, 1, 0));
	SHOW("shutdown", shutdown(pipes[0], SHUT_WR));
	SHOW("write to the end for reading", write(pipes[0], "x", 1));
	SHOW("write", write(pipes[1], "x", 1));
	SHOW("read", read(pipes[0], &octet, 1));
}

static void other_sockets(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	int datagram = socket(AF_INET, SOCK_DGRAM, 0), ways[2];
	socklen_t len = sizeof(address);
	char text[10] = "";

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, ways) == 0);
	SHOW("AF_UNIX send", send(ways[0], "abc", 3, 0));
	show_recv("AF_UNIX recv", ways[1], 10, 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	NEED(bind(datagram, (struct sockaddr *)&address, len) == 0);
	NEED(!getsockname(datagram, (struct sockaddr *)&address, &len));
	SHOW("UDP connect",
	     connect(datagram, (struct sockaddr *)&address, len));
	SHOW("UDP send", send(datagram, "abc", 3, 0));
	SHOW("UDP recv", recv(datagram, text, 10, 0));
	SHOW("UDP sendto",
	     sendto(datagram, "de", 2, 0, (struct sockaddr *)&address, len));
	SHOW("UDP recvfrom", recvfrom(datagram, text, 10, 0,
				      (struct sockaddr *)&address, &len));
}

static void large_lengths(void)
{
	struct pair pair = pair_used();
	volatile size_t all = SIZE_MAX;
	char octet[10];

	send_text(pair.client, "x");
	wait_octets(pair.server, 1);
	SHOW("read of all memory", read(pair.server, octet, all));
	SHOW("write of all memory", write(pair.client, octet, all));
}

const struct sock_case error_cases[] = {
	{ "error.bad-memory-send", bad_memory_send },
	{ "error.bad-memory-large", bad_memory_large },
	{ "error.bad-memory-recv", bad_memory_recv },
	{ "error.bad-memory-poll", bad_memory_poll },
	{ "error.bad-memory-again", bad_memory_again },
	{ "error.bad-memory-sleeping", bad_memory_sleeping },
	{ "error.bad-memory-at-end", bad_memory_at_end },
	{ "error.read-only-memory", read_only_memory },
	{ "error.memory-half-there", memory_half_there },
	{ "error.null-memory", null_memory },
	{ "error.bad-descriptors", bad_descriptors },
	{ "error.not-sockets", not_sockets },
	{ "error.other-sockets", other_sockets },
	{ "error.large-lengths", large_lengths },
	{ NULL, NULL },
};
