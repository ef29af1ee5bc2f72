/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* select() and pselect(). */
#include "cases.h"

#include <sys/select.h>

/* Prints what select() returns for one descriptor without waiting. */
static void show_select(const char *what, int fd)
{
	struct timeval none = { 0 };
	fd_set in, out, except;
	int count;

	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_ZERO(&except);
	FD_SET(fd, &in);
	FD_SET(fd, &out);
	FD_SET(fd, &except);
	count = select(fd + 1, &in, &out, &except, &none);
	if (count < 0)
		say("%s: %s", what, error_name(errno));
	else
		say("%s: %d:%s%s%s", what, count,
		    FD_ISSET(fd, &in) ? " readable" : "",
		    FD_ISSET(fd, &out) ? " writable" : "",
		    FD_ISSET(fd, &except) ? " exceptional" : "");
}

static void states(void)
{
	struct pair pair = pair_used();
	int listener = listen_new(1);
	struct address address = address_of(listener);

	show_select("fresh", socket_new());
	show_select("listening", listener);
	dial(&address);
	wait_poll(listener, POLLIN);
	show_select("listening, a connection waits", listener);
	show_select("connected", pair.server);
	send_text(pair.client, "x");
	wait_poll(pair.server, POLLIN);
	show_select("with data", pair.server);
	show_recv("recv", pair.server, 10, 0);
	close(pair.client);
	wait_poll(pair.server, POLLRDHUP);
	show_select("end of stream", pair.server);
	show_select("reset", reset_new());
}

static bool is_writable(int fd)
{
	struct timeval none = { 0 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	return select(fd + 1, NULL, &set, NULL, &none) != 0;
}

static void full(void)
{
	struct pair pair = pair_used();
	size_t count = 0;

	do
		fill_more(pair.client, &count);
	while (is_writable(pair.client));
	say("full: not writable");
	recv_pattern(pair.server, count, 0);
	wait_poll(pair.client, POLLOUT);
	show_select("drained", pair.client);
}

static void connecting(void)
{
	struct full_listener pending = full_listener_new();
	int bound = bound_new(), fd = socket_new();
	struct address address = address_of(bound);

	set_nonblocking(fd, true);
	SHOW("connect", connect(fd, &address.any, address.len));
	wait_poll(fd, POLLERR);
	show_select("refused", fd);
	fd = socket_new();
	set_nonblocking(fd, true);
	SHOW("connect", connect(fd, &pending.address.any, pending.address.len));
	show_select("pending", fd);
	take_connection(pending.listener);
	wait_poll(fd, POLLOUT);
	show_select("connected", fd);
}

static void errors(void)
{
	struct timeval bad = { .tv_sec = -1 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(300, &set);
	SHOW("a number that is not open", select(301, &set, NULL, NULL, NULL));
	FD_ZERO(&set);
	SHOW("negative count", select(-1, &set, NULL, NULL, NULL));
	SHOW("negative time", select(0, NULL, NULL, NULL, &bad));
}

static void timeouts(void)
{
	struct pair pair = pair_used();
	struct timeval limit = { .tv_usec = 10000 };
	struct timespec same = { .tv_nsec = 10000000 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(pair.client, &set);
	SHOW("select", select(pair.client + 1, &set, NULL, NULL, &limit));
	say("still in the set: %d", !!FD_ISSET(pair.client, &set));
	say("the time that is left is 0: %d", !limit.tv_sec && !limit.tv_usec);
	FD_SET(pair.client, &set);
	SHOW("pselect",
	     pselect(pair.client + 1, &set, NULL, NULL, &same, NULL));
	say("the time is as it was: %d", same.tv_nsec == 10000000);
}

static void select_main(void *arg)
{
	int fd = *(int *)arg;
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	SHOW("the sleeping select", select(fd + 1, &set, NULL, NULL, NULL));
}

static void wakes_data(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, select_main, &pair.server);
	send_text(pair.client, "abc");
	sleeper_end(&sleeper);
	show_recv("recv", pair.server, 10, 0);
}

static void wakes_end(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, select_main, &pair.server);
	close(pair.client);
	sleeper_end(&sleeper);
	show_recv("recv", pair.server, 10, 0);
}

static void interrupted(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	catch_signal(SIGUSR1, SA_RESTART);
	sleeper_start_asleep(&sleeper, select_main, &pair.server);
	pthread_kill(sleeper.thread, SIGUSR1);
	sleeper_end(&sleeper);
}

static void high_number(void)
{
	struct pair pair = pair_used();
	int high = dup2(pair.server, FD_SETSIZE - 1);

	NEED(high == FD_SETSIZE - 1);
	send_text(pair.client, "x");
	wait_poll(high, POLLIN);
	show_select("the highest number", high);
}

static void several(void)
{
	struct pair first = pair_used(), second = pair_used();
	int max = second.server > first.server ? second.server : first.server;
	fd_set in, out;

	send_text(first.client, "x");
	wait_poll(first.server, POLLIN);
	FD_ZERO(&in);
	FD_SET(first.server, &in);
	FD_SET(second.server, &in);
	out = in;
	SHOW("select", select(max + 1, &in, &out, NULL, NULL));
	say("first: %d %d, second: %d %d", !!FD_ISSET(first.server, &in),
	    !!FD_ISSET(first.server, &out), !!FD_ISSET(second.server, &in),
	    !!FD_ISSET(second.server, &out));
}

static void pending_signal(void)
{
	struct pair pair = pair_used();
	sigset_t none;
	fd_set set;

	sigemptyset(&none);
	block_usr1();
	raise(SIGUSR1);
	FD_ZERO(&set);
	FD_SET(pair.client, &set);
	SHOW("pselect, nothing ready",
	     pselect(pair.client + 1, &set, NULL, NULL, NULL, &none));
	say("%d signals", caught[SIGUSR1]);
	send_text(pair.server, "x");
	wait_poll(pair.client, POLLIN);
	raise(SIGUSR1);
	SHOW("pselect, ready",
	     pselect(pair.client + 1, &set, NULL, NULL, NULL, &none));
}

const struct sock_case select_cases[] = {
	{ "select.states", states },
	{ "select.full", full },
	{ "select.connecting", connecting },
	{ "select.errors", errors },
	{ "select.timeouts", timeouts },
	{ "select.wakes-data", wakes_data },
	{ "select.wakes-end", wakes_end },
	{ "select.interrupted", interrupted },
	{ "select.high-number", high_number },
	{ "select.several", several },
	{ "select.pending-signal", pending_signal },
	{ NULL, NULL },
};
