/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* shutdown(): half a connection. */
#include "cases.h"

#define ALL (POLLIN | POLLOUT | POLLRDHUP)

static void write_side(void)
{
	struct pair pair = pair_used();

	send_text(pair.client, "last");
	SHOW("shutdown", shutdown(pair.client, SHUT_WR));
	show_send("send", pair.client, "x", MSG_NOSIGNAL);
	show_poll("our poll", pair.client, ALL);
	wait_poll(pair.server, POLLRDHUP);
	show_poll("the peer's poll", pair.server, ALL);
	show_recv("the peer", pair.server, 10, 0);
	show_recv("the peer", pair.server, 10, 0);
	show_send("the peer still sends", pair.server, "answer", 0);
	show_recv("we receive", pair.client, 10, 0);
	SHOW("the peer's shutdown", shutdown(pair.server, SHUT_WR));
	show_recv("we receive", pair.client, 10, 0);
	show_poll("our poll", pair.client, ALL);
}

static void half_closed_echo(void)
{
	pid_t pid;
	int fd = child_accept(echo, &pid);

	send_pattern(fd, 30000, 0);
	SHOW("shutdown", shutdown(fd, SHUT_WR));
	say("%zu octets came back", recv_pattern_all(fd, 0));
	child_end(pid);
}

static void half_closed_long_child(int fd)
{
	show_recv("the child reads", fd, 10, 0);
	show_recv("the child reads", fd, 10, 0);
	send_pattern(fd, 2 << 20, 0);
}

static void half_closed_long(void)
{
	pid_t pid;
	int fd = child_dial(half_closed_long_child, &pid);

	send_text(fd, "go");
	NEED(shutdown(fd, SHUT_WR) == 0);
	say("%zu octets came on the open half", recv_pattern_all(fd, 0));
	child_end(pid);
}

static void read_side(void)
{
	struct pair pair = pair_used();

	SHOW("shutdown", shutdown(pair.client, SHUT_RD));
	show_poll("our poll", pair.client, ALL);
	show_recv("recv", pair.client, 10, 0);
	show_poll("the peer's poll", pair.server, ALL);
	show_send("the peer sends", pair.server, "late", 0);
	wait_octets(pair.client, 4);
	show_recv("it can be read", pair.client, 10, 0);
	show_recv("recv", pair.client, 10, 0);
	show_send("we send", pair.client, "on", 0);
	show_recv("the peer", pair.server, 10, 0);
}

static void read_side_queued(void)
{
	struct pair pair = pair_used();

	send_text(pair.server, "queued");
	wait_octets(pair.client, 6);
	SHOW("shutdown", shutdown(pair.client, SHUT_RD));
	show_recv("recv", pair.client, 3, 0);
	show_recv("recv", pair.client, 10, 0);
	show_recv("recv", pair.client, 10, 0);
}

static void both_sides(void)
{
	struct pair pair = pair_used();

	SHOW("shutdown", shutdown(pair.client, SHUT_RDWR));
	show_poll("our poll", pair.client, ALL);
	show_recv("recv", pair.client, 10, 0);
	show_send("send", pair.client, "x", MSG_NOSIGNAL);
	show_recv("the peer", pair.server, 10, 0);
	show_poll("the peer's poll", pair.server, ALL);
}

static void both_ends(void)
{
	struct pair pair = pair_used();

	SHOW("client", shutdown(pair.client, SHUT_WR));
	wait_poll(pair.server, POLLRDHUP);
	SHOW("server", shutdown(pair.server, SHUT_WR));
	wait_poll(pair.client, POLLHUP);
	wait_poll(pair.server, POLLHUP);
	show_poll("client's poll", pair.client, ALL);
	show_poll("server's poll", pair.server, ALL);
	show_recv("client", pair.client, 10, 0);
	show_recv("server", pair.server, 10, 0);
	show_so_error("SO_ERROR", pair.client);
}

static void twice(void)
{
	struct pair pair = pair_used();

	SHOW("shutdown", shutdown(pair.client, SHUT_WR));
	SHOW("shutdown", shutdown(pair.client, SHUT_WR));
	SHOW("shutdown of the reading side", shutdown(pair.client, SHUT_RD));
	SHOW("shutdown of both", shutdown(pair.client, SHUT_RDWR));
}

static void errors(void)
{
	struct pair pair = pair_used();
	int pipes[2];

	NEED(pipe(pipes) == 0);
	SHOW("a fresh socket", shutdown(socket_new(), SHUT_RDWR));
	SHOW("a bound socket", shutdown(bound_new(), SHUT_WR));
	SHOW("unknown side", shutdown(pair.client, 3));
	SHOW("side -1", shutdown(pair.client, -1));
	SHOW("a pipe", shutdown(pipes[0], SHUT_RD));
	SHOW("no descriptor", shutdown(-1, SHUT_RD));
	send_text(pair.client, "as before");
	show_recv("the connection", pair.server, 10, 0);
}

static void after_reset(void)
{
	int fd = reset_new();

	SHOW("shutdown", shutdown(fd, SHUT_RDWR));
	show_so_error("SO_ERROR", fd);
}

static void wakes_recv(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, sleeping_recv, &pair.client);
	NEED(shutdown(pair.client, SHUT_RD) == 0);
	sleeper_end(&sleeper);
}

static void wakes_peer(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, sleeping_recv, &pair.client);
	NEED(shutdown(pair.server, SHUT_WR) == 0);
	sleeper_end(&sleeper);
}

static void wakes_poll(void)
{
	struct pair pair = pair_used();
	struct watched watched = { pair.client, POLLIN };
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, sleeping_poll, &watched);
	NEED(shutdown(pair.client, SHUT_RDWR) == 0);
	sleeper_end(&sleeper);
}

static void send_main(void *arg)
{
	static char octets[65536];
	ssize_t sent;

	do
		sent = send(*(int *)arg, octets, sizeof(octets), MSG_NOSIGNAL);
	while (sent > 0);
	say("the sleeping send: %s", error_name(errno));
}

static void wakes_send(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	fill(pair.client);
	sleeper_start_asleep(&sleeper, send_main, &pair.client);
	NEED(shutdown(pair.client, SHUT_WR) == 0);
	sleeper_end(&sleeper);
}

static void unsent(void)
{
	struct pair pair = pair_used();
	size_t count = fill(pair.client), got;

	SHOW("shutdown of a full socket", shutdown(pair.client, SHUT_WR));
	got = recv_pattern_all(pair.server, 0);
	say("all of it came, then the end: %d", got == count);
}

static void by_dup(void)
{
	struct pair pair = pair_used();
	int copy = dup(pair.client);

	SHOW("shutdown", shutdown(copy, SHUT_WR));
	show_send("send by the other", pair.client, "x", MSG_NOSIGNAL);
	show_recv("the peer", pair.server, 10, 0);
}

static void then_close(void)
{
	struct pair pair = pair_used();

	SHOW("shutdown", shutdown(pair.client, SHUT_WR));
	show_recv("the peer", pair.server, 10, 0);
	SHOW("close", close(pair.client));
	show_recv("the peer", pair.server, 10, 0);
	show_send("the peer sends to nobody", pair.server, "x", MSG_NOSIGNAL);
	wait_poll(pair.server, POLLERR | POLLHUP);
	show_recv("the peer", pair.server, 10, 0);
	show_so_error("SO_ERROR", pair.server);
}

const struct sock_case shutdown_cases[] = {
	{ "shutdown.write-side", write_side },
	{ "shutdown.half-closed-echo", half_closed_echo },
	{ "shutdown.half-closed-long", half_closed_long },
	{ "shutdown.read-side", read_side },
	{ "shutdown.read-side-queued", read_side_queued },
	{ "shutdown.both-sides", both_sides },
	{ "shutdown.both-ends", both_ends },
	{ "shutdown.twice", twice },
	{ "shutdown.errors", errors },
	{ "shutdown.after-reset", after_reset },
	{ "shutdown.wakes-recv", wakes_recv },
	{ "shutdown.wakes-peer", wakes_peer },
	{ "shutdown.wakes-poll", wakes_poll },
	{ "shutdown.wakes-send", wakes_send },
	{ "shutdown.unsent", unsent },
	{ "shutdown.by-dup", by_dup },
	{ "shutdown.then-close", then_close },
	{ NULL, NULL },
};
