/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Abnormal ends: resets, and sending to a peer that has gone. */
#include "cases.h"

#define ALL (POLLIN | POLLOUT | POLLRDHUP)

static void close_hard(int fd)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 0 };

	NEED(!setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	NEED(close(fd) == 0);
}

static void first_recv(void)
{
	int fd = reset_new();

	show_poll("poll", fd, ALL);
	show_recv("recv", fd, 10, 0);
	show_recv("recv", fd, 10, 0);
	show_poll("poll", fd, ALL);
	show_so_error("SO_ERROR", fd);
	show_send("send", fd, "x", MSG_NOSIGNAL);
}

static void first_send(void)
{
	int fd = reset_new();

	catch_signal(SIGPIPE, 0);
	show_send("send", fd, "x", 0);
	say("%d SIGPIPE", caught[SIGPIPE]);
	show_send("send again", fd, "x", 0);
	say("%d SIGPIPE", caught[SIGPIPE]);
	show_recv("recv", fd, 10, 0);
}

static void first_so_error(void)
{
	int fd = reset_new();

	show_so_error("SO_ERROR", fd);
	show_so_error("SO_ERROR again", fd);
	show_poll("poll", fd, ALL);
	show_recv("recv", fd, 10, 0);
	show_send("send", fd, "x", MSG_NOSIGNAL);
}

static void queued_data(void)
{
	struct pair pair = pair_used();

	send_text(pair.client, "queued");
	wait_octets(pair.server, 6);
	close_hard(pair.client);
	wait_poll(pair.server, POLLHUP);
	show_poll("poll", pair.server, ALL);
	show_recv("recv", pair.server, 3, 0);
	show_recv("recv", pair.server, 10, 0);
	show_recv("recv", pair.server, 10, 0);
	show_recv("recv", pair.server, 10, 0);
}

static void peer_had_unread(void)
{
	struct pair pair = pair_used();

	send_text(pair.server, "for us");
	wait_octets(pair.client, 6);
	send_text(pair.client, "never read");
	wait_octets(pair.server, 10);
	wait_sent(pair.client);
	close(pair.server);
	wait_poll(pair.client, POLLERR);
	show_poll("poll", pair.client, ALL);
	show_recv("recv", pair.client, 10, 0);
	show_recv("recv", pair.client, 10, 0);
	show_recv("recv", pair.client, 10, 0);
	show_send("send", pair.client, "x", MSG_NOSIGNAL);
}

static void peer_had_some_unread(void)
{
	struct pair pair = pair_used();

	send_text(pair.client, "0123456789");
	wait_octets(pair.server, 10);
	show_recv("the peer reads some", pair.server, 4, 0);
	close(pair.server);
	wait_poll(pair.client, POLLERR);
	show_recv("recv", pair.client, 10, 0);
	show_recv("recv", pair.client, 10, 0);
}

/* The peer has closed in order, and this end continues to send. */
static void send_after_end(void)
{
	struct pair pair = pair_used();

	catch_signal(SIGPIPE, 0);
	close(pair.client);
	wait_poll(pair.server, POLLRDHUP);
	show_recv("recv", pair.server, 10, 0);
	show_send("send", pair.server, "x", 0);
	wait_poll(pair.server, POLLERR | POLLHUP);
	show_poll("poll", pair.server, ALL);
	show_recv("recv", pair.server, 10, 0);
	show_send("send", pair.server, "x", 0);
	say("%d SIGPIPE", caught[SIGPIPE]);
	show_send("send", pair.server, "x", 0);
	say("%d SIGPIPE", caught[SIGPIPE]);
	show_so_error("SO_ERROR", pair.server);
}

static void send_after_end_so_error(void)
{
	struct pair pair = pair_used();

	close(pair.client);
	wait_poll(pair.server, POLLRDHUP);
	show_send("send", pair.server, "x", MSG_NOSIGNAL);
	wait_poll(pair.server, POLLERR | POLLHUP);
	show_so_error("SO_ERROR", pair.server);
	show_so_error("SO_ERROR", pair.server);
	show_recv("recv", pair.server, 10, 0);
	show_send("send", pair.server, "x", MSG_NOSIGNAL);
}

static void wakes_recv(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, sleeping_recv, &pair.server);
	close_hard(pair.client);
	sleeper_end(&sleeper);
	show_recv("the next recv", pair.server, 10, 0);
}

static void send_main(void *arg)
{
	static char octets[65536];
	ssize_t sent;

	do
		sent = send(*(int *)arg, octets, sizeof(octets), MSG_NOSIGNAL);
	while (sent == sizeof(octets));
	if (sent > 0)
		sent = send(*(int *)arg, octets, 1, MSG_NOSIGNAL);
	say("the sleeping send: %s", error_name(errno));
}

static void wakes_send(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	fill(pair.server);
	sleeper_start_asleep(&sleeper, send_main, &pair.server);
	close_hard(pair.client);
	sleeper_end(&sleeper);
}

static void wakes_poll(void)
{
	struct pair pair = pair_used();
	struct watched watched = { pair.server, 0 };
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, sleeping_poll, &watched);
	close_hard(pair.client);
	sleeper_end(&sleeper);
}

static void names(void)
{
	struct address address = { .len = sizeof(address.storage) };
	int fd = reset_new();

	SHOW("getpeername", getpeername(fd, &address.any, &address.len));
	SHOW("getsockname", getsockname(fd, &address.any, &address.len));
	say("our address is %s", address_name(&address));
}

static void options(void)
{
	int fd = reset_new();
	int one = 1;

	SHOW("set TCP_NODELAY",
	     setsockopt(fd, SOL_TCP, TCP_NODELAY, &one, sizeof(one)));
	show_option("TCP_NODELAY", fd, SOL_TCP, TCP_NODELAY);
	show_option("SO_TYPE", fd, SOL_SOCKET, SO_TYPE);
	SHOW("FIONREAD", ioctl(fd, FIONREAD, &one));
	say("%d octets", one);
}

static void connects_again(void)
{
	int listener = listen_new(1), fd = reset_new();
	struct address address = address_of(listener);

	show_recv("recv", fd, 10, 0);
	SHOW("connect", connect(fd, &address.any, address.len));
	SHOW("connect again", connect(fd, &address.any, address.len));
}

/* The default action of SIGPIPE ends a process. */
static void broken_pipe_child(void *arg)
{
	int fd = *(int *)arg;

	shutdown(fd, SHUT_WR);
	send(fd, "x", 1, 0);
	say("the child survives");
}

static void broken_pipe(void)
{
	struct pair pair = pair_new();
	pid_t pid = child_start(broken_pipe_child, &pair.client);
	int status;

	NEED(waitpid(pid, &status, 0) == pid);
	say("the child is ended by SIGPIPE: %d",
	    WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
}

static void before_accept(void)
{
	int listener = listen_new(1), fd;
	struct address address = address_of(listener);

	fd = dial(&address);
	send_text(fd, "abc");
	wait_poll(listener, POLLIN);
	close_hard(fd);
	fd = take_connection(listener);
	wait_poll(fd, POLLHUP);
	show_recv("recv", fd, 10, 0);
	show_recv("recv", fd, 10, 0);
	show_recv("recv", fd, 10, 0);
}

static void unsent_gone(void)
{
	struct pair pair = pair_used();

	fill(pair.client);
	close_hard(pair.client);
	wait_poll(pair.server, POLLHUP);
	show_poll("the peer's poll", pair.server, ALL);
	for (;;) {
		char octets[65536];
		ssize_t got = recv(pair.server, octets, sizeof(octets), 0);

		if (got <= 0) {
			say("after some octets: %s",
			    got ? error_name(errno) : "the end");
			break;
		}
	}
	show_recv("recv", pair.server, 10, 0);
}

static void after_end_unread(void)
{
	struct pair pair = pair_used();

	send_text(pair.client, "unread");
	SHOW("shutdown", shutdown(pair.client, SHUT_WR));
	wait_poll(pair.server, POLLRDHUP);
	close(pair.server);
	wait_poll(pair.client, POLLERR | POLLHUP);
	show_recv("recv", pair.client, 10, 0);
	show_recv("recv", pair.client, 10, 0);
}

/* The moments at which the peer below resets the connection. */
#define MOMENTS 20

struct sending {
	int fd, error;
};

static void send_until_error(void *arg)
{
	static char octets[1 << 20];
	struct sending *sending = arg;

	while (send(sending->fd, octets, sizeof(octets), MSG_NOSIGNAL) > 0)
		;
	sending->error = errno;
}

/* Whatever the library does with the connection at that moment. */
static void of_a_sender(void)
{
	int right = 0;

	for (int moment = 0; moment < MOMENTS; moment++) {
		struct pair pair = pair_new();
		struct sending sending = { .fd = pair.client };
		struct sleeper sleeper;
		char octets[30000];

		sleeper_start(&sleeper, send_until_error, &sending);
		NEED(recv(pair.server, octets, sizeof(octets), MSG_WAITALL) ==
		     sizeof(octets));
		for (int i = 0; i < moment; i++)
			nap();
		/* Octets are unread, because a send has more. */
		close(pair.server);
		sleeper_end(&sleeper);
		right += sending.error == ECONNRESET &&
			 recv(pair.client, octets, 1, 0) == 0;
		close(pair.client);
	}
	say("%d of %d senders saw the reset once", right, MOMENTS);
}

const struct sock_case reset_cases[] = {
	{ "reset.first-recv", first_recv },
	{ "reset.first-send", first_send },
	{ "reset.first-so-error", first_so_error },
	{ "reset.queued-data", queued_data },
	{ "reset.peer-had-unread", peer_had_unread },
	{ "reset.peer-had-some-unread", peer_had_some_unread },
	{ "reset.send-after-end", send_after_end },
	{ "reset.send-after-end-so-error", send_after_end_so_error },
	{ "reset.wakes-recv", wakes_recv },
	{ "reset.wakes-send", wakes_send },
	{ "reset.wakes-poll", wakes_poll },
	{ "reset.names", names },
	{ "reset.options", options },
	{ "reset.connects-again", connects_again },
	{ "reset.broken-pipe", broken_pipe },
	{ "reset.before-accept", before_accept },
	{ "reset.unsent-gone", unsent_gone },
	{ "reset.after-end-unread", after_end_unread },
	{ "reset.of-a-sender", of_a_sender },
	{ NULL, NULL },
};
