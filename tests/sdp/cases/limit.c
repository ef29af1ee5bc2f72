/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Few descriptors, and many connections. */
#include "cases.h"

#include <sys/resource.h>

static void limit_to(rlim_t count)
{
	struct rlimit limit;

	NEED(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = count;
	NEED(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static void sockets(void)
{
	int fd = -1, last;

	limit_to(64);
	do {
		last = fd;
		fd = socket(fixture_family, SOCK_STREAM, 0);
	} while (fd >= 0);
	say("socket until %s", error_name(errno));
	close(last);
	say("then one more: %d", socket_new() >= 0);
}

static void waiting_main(void *arg)
{
	int fd = dial(arg);
	char octet;

	send_text(fd, "waiting");
	NEED(recv(fd, &octet, 1, 0) == 0);
}

/* The client is another process, which has enough descriptors. */
static void acceptance(void)
{
	int listener = listen_new(2), last = -1, fd = -1;
	struct address address = address_of(listener);
	pid_t pid = child_start(waiting_main, &address);

	wait_poll(listener, POLLIN);
	limit_to(64);
	do {
		last = fd;
		fd = open("/dev/null", O_RDONLY);
	} while (fd >= 0);
	SHOW("accept", accept(listener, NULL, NULL));
	show_poll("the connection waits", listener, POLLIN);
	close(last);
	fd = take_connection(listener);
	show_recv("accepted after a close", fd, 20, 0);
	close(fd);
	child_end(pid);
}

static void connections(void)
{
	int listener = listen_new(1), right = 0;
	struct address address = address_of(listener);

	limit_to(64);
	for (int i = 0; i < 40; i++) {
		int client = dial(&address), fd = take_connection(listener);
		char octet = 0;

		send_text(client, "x");
		right += recv(fd, &octet, 1, 0) == 1 && octet == 'x';
		close(fd);
		close(client);
	}
	say("%d connections, two descriptors at a time", right);
}

static void ten_at_once(void)
{
	int listener = listen_new(10), right = 0, clients[10], fds[10];
	struct address address = address_of(listener);

	limit_to(64);
	for (int i = 0; i < 10; i++) {
		clients[i] = dial(&address);
		fds[i] = take_connection(listener);
		send_text(clients[i], "x");
	}
	for (int i = 0; i < 10; i++) {
		char octet = 0;

		right += recv(fds[i], &octet, 1, 0) == 1 && octet == 'x';
	}
	say("%d connections at once with 64 descriptors", right);
}

static void below_number(void)
{
	struct pair pair = pair_used();

	limit_to(64);
	NEED(dup2(pair.client, 63) == 63);
	SHOW("dup2 to a number above", dup2(pair.client, 64));
	SHOW("F_DUPFD above", fcntl(pair.client, F_DUPFD, 64));
	close(pair.client);
	send_text(63, "by the last number");
	show_recv("recv", pair.server, 30, 0);
}

static void lowered_below(void)
{
	struct pair pair = pair_used();

	NEED(dup2(pair.client, 80) == 80);
	close(pair.client);
	limit_to(10);
	send_text(80, "above the limit");
	show_recv("recv", pair.server, 30, 0);
	send_text(pair.server, "and back");
	show_recv("recv", 80, 30, 0);
	show_poll("poll", 80, POLLIN | POLLOUT);
}

struct child {
	struct pair pair;
	int go[2]; /* a pipe */
};

static void echo_main(void *arg)
{
	struct child *child = arg;
	char text[10] = "";

	NEED(read(child->go[0], text, 1) == 1);
	NEED(recv(child->pair.server, text, 7, MSG_WAITALL) == 7);
	send_text(child->pair.server, text);
}

/* A child uses a connection of its parent, which has no descriptor left
 * then. */
static void of_parent(void)
{
	struct child child = { .pair = pair_used() };
	pid_t pid;

	NEED(pipe(child.go) == 0);
	pid = child_start(echo_main, &child);
	limit_to(64);
	while (open("/dev/null", O_RDONLY) >= 0)
		;
	NEED(write(child.go[1], "x", 1) == 1);
	send_text(child.pair.client, "by the child");
	show_recv("the child's echo", child.pair.client, 10, 0);
	child_end(pid);
}

/* A limit that cannot be raised, and is too low for a device: TCP is used. */
static void thirty_two(void)
{
	const struct rlimit limit = { 32, 32 };
	int listener, right = 0, fd, cnt = 0;
	struct address address;

	NEED(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	listener = listen_new(2);
	address = address_of(listener);
	for (int i = 0; i < 5; i++) {
		int client = dial(&address);
		char octet = 0;

		fd = take_connection(listener);
		send_text(client, "x");
		right += recv(fd, &octet, 1, 0) == 1 && octet == 'x';
		send_text(fd, "y");
		right += recv(client, &octet, 1, 0) == 1 && octet == 'y';
		close(fd);
		close(client);
	}
	say("%d of 10 octets with a limit of 32", right);
	while ((fd = socket(fixture_family, SOCK_STREAM, 0)) >= 0)
		cnt++;
	say("sockets until %s: %d", error_name(errno), cnt > 20);
}

enum { MANY = 200 };

/* Waits for all at once, so that all of them make progress. */
static void wait_all(const int *fds, short events)
{
	struct pollfd list[MANY];

	for (int i = 0; i < MANY; i++)
		list[i] = (struct pollfd){ .fd = fds[i], .events = events };
	UNTIL(poll(list, MANY, -1) == MANY);
}

static void two_hundred(void)
{
	int listener = listen_new(MANY), right = 0;
	struct address address = address_of(listener);
	int clients[MANY], fds[MANY];

	for (int i = 0; i < MANY; i++) {
		clients[i] = socket_new();
		set_nonblocking(clients[i], true);
		NEED(connect(clients[i], &address.any, address.len) == 0 ||
		     errno == EINPROGRESS);
	}
	wait_all(clients, POLLOUT);
	for (int i = 0; i < MANY; i++) {
		fds[i] = take_connection(listener);
		set_nonblocking(clients[i], false);
	}
	for (int turn = 0; turn < 3; turn++)
		for (int i = 0; i < MANY; i++)
			send_pattern(clients[i], 100, (size_t)(turn * 100));
	wait_all(fds, POLLIN);
	for (int i = 0; i < MANY; i++) {
		recv_pattern(fds[i], 300, 0);
		right++;
	}
	say("%d connections at once", right);
}

/* ---- a hard limit: SDP if there are enough descriptors, else TCP ---- */

static void limit_hard(rlim_t count)
{
	struct rlimit limit = { .rlim_cur = count, .rlim_max = count };

	NEED(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

struct limited {
	rlim_t count;
	struct address address;
	int way; /* to pass the address */
};

static void client_main(void *arg)
{
	const struct limited *limited = arg;
	int fd;

	limit_hard(limited->count);
	fd = dial(&limited->address);
	send_pattern(fd, 10000, 0);
	NEED(shutdown(fd, SHUT_WR) == 0);
	NEED(recv_pattern_all(fd, 0) == 10000);
	close(fd);
}

static void few_for_client(void)
{
	struct limited limited = { 0 };
	int listener = listen_new(1), fd;

	limited.address = address_of(listener);
	for (limited.count = 10; limited.count < 50; limited.count++) {
		pid_t pid = child_start(client_main, &limited);

		fd = take_connection(listener);
		echo(fd);
		close(fd);
		child_end(pid);
	}
	say("clients have come with 10 to %d descriptors",
	    (int)limited.count - 1);
}

static void server_main(void *arg)
{
	struct limited *limited = arg;
	int listener, fd;

	limit_hard(limited->count);
	listener = listen_new(1);
	limited->address = address_of(listener);
	NEED(write(limited->way, &limited->address, sizeof(struct address)) ==
	     sizeof(struct address));
	fd = take_connection(listener);
	echo(fd);
	close(fd);
}

static void few_for_server(void)
{
	struct limited limited = { 0 };
	int ways[2];

	NEED(pipe(ways) == 0);
	limited.way = ways[1];
	for (limited.count = 12; limited.count < 50; limited.count++) {
		pid_t pid = child_start(server_main, &limited);
		struct address address;
		int fd;

		NEED(read(ways[0], &address, sizeof(address)) ==
		     sizeof(address));
		fd = dial(&address);
		send_pattern(fd, 10000, 0);
		NEED(shutdown(fd, SHUT_WR) == 0);
		NEED(recv_pattern_all(fd, 0) == 10000);
		close(fd);
		child_end(pid);
	}
	say("servers have answered with 12 to %d descriptors",
	    (int)limited.count - 1);
}

const struct sock_case limit_cases[] = {
	{ "limit.sockets", sockets },
	{ "limit.acceptance", acceptance },
	{ "limit.connections", connections },
	{ "limit.ten-at-once", ten_at_once },
	{ "limit.below-number", below_number },
	{ "limit.lowered-below", lowered_below },
	{ "limit.thirty-two", thirty_two },
	{ "limit.of-parent", of_parent },
	{ "limit.two-hundred", two_hundred },
	{ "limit.few-for-client", few_for_client },
	{ "limit.few-for-server", few_for_server },
	{ NULL, NULL },
};
