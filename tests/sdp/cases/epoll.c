/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* epoll: level-triggered, edge-triggered and one-shot; what identifies a
 * registration. */
#include "cases.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>

#define ALL (EPOLLIN | EPOLLOUT | EPOLLRDHUP)

static int set_new(void)
{
	int set = epoll_create1(EPOLL_CLOEXEC);

	NEED(set >= 0);
	return set;
}

static int control(int set, int what, int fd, unsigned events, uint64_t data)
{
	struct epoll_event event = { .events = events, .data.u64 = data };

	return epoll_ctl(set, what, fd, &event);
}

static void add(int set, int fd, unsigned events)
{
	NEED(control(set, EPOLL_CTL_ADD, fd, events, 0) == 0);
}

/* Prints the events of the only descriptor of a set, without waiting. */
static void show_events(const char *what, int set)
{
	struct epoll_event list[4];
	int count = epoll_wait(set, list, 4, 0);

	if (count < 0)
		say("%s: %s", what, error_name(errno));
	else if (count > 1)
		say("%s: %d events", what, count);
	else
		say("%s: %s", what, events_name(count ? list[0].events : 0));
}

static void level(void)
{
	struct pair pair = pair_used();
	int set = set_new();

	add(set, pair.server, ALL);
	show_events("idle", set);
	show_events("idle again", set);
	send_text(pair.client, "abc");
	wait_poll(pair.server, POLLIN);
	show_events("data", set);
	show_events("data again", set);
	show_recv("some read", pair.server, 1, 0);
	show_events("some left", set);
	show_recv("all read", pair.server, 10, 0);
	show_events("nothing left", set);
}

static void edge(void)
{
	struct pair pair = pair_used();
	int set = set_new();

	add(set, pair.server, ALL | EPOLLET);
	show_events("idle", set);
	show_events("idle again", set);
	send_text(pair.client, "abc");
	wait_octets(pair.server, 3);
	show_events("data", set);
	show_events("data again", set);
	send_text(pair.client, "def");
	wait_octets(pair.server, 6);
	show_events("more data, the old unread", set);
	show_events("again", set);
	show_recv("some read", pair.server, 1, 0);
	show_events("some left", set);
	send_text(pair.client, "ghi");
	wait_octets(pair.server, 8);
	show_events("more data", set);
	show_recv("all read", pair.server, 10, 0);
	show_events("nothing left", set);
	send_text(pair.client, "jkl");
	wait_octets(pair.server, 3);
	show_events("data", set);
	close(pair.client);
	wait_poll(pair.server, POLLRDHUP);
	show_events("the end", set);
	show_events("the end again", set);
}

/* Both ends in one set, which waits for a while. */
static void edge_both(void)
{
	struct pair pair = pair_used();
	struct epoll_event list[4];
	int set = set_new(), cnt = 0, more;

	add(set, pair.server, ALL | EPOLLET);
	add(set, pair.client, ALL | EPOLLET);
	while (cnt < 2 && (more = epoll_wait(set, list, 4, 1000)) > 0)
		cnt += more;
	say("%d ends can send", cnt);
	say("again: %d", epoll_wait(set, list, 4, 100));
}

static void edge_modify(void)
{
	struct pair pair = pair_used();
	int set = set_new();

	add(set, pair.server, ALL | EPOLLET);
	send_text(pair.client, "abc");
	wait_octets(pair.server, 3);
	show_events("data", set);
	show_events("data again", set);
	NEED(!control(set, EPOLL_CTL_MOD, pair.server, EPOLLIN | EPOLLET, 0));
	show_events("after MOD", set);
	show_events("again", set);
	NEED(!control(set, EPOLL_CTL_MOD, pair.server, EPOLLOUT | EPOLLET, 0));
	show_events("after MOD to OUT", set);
	NEED(!control(set, EPOLL_CTL_MOD, pair.server, 0, 0));
	show_events("after MOD to nothing", set);
	NEED(!control(set, EPOLL_CTL_MOD, pair.server, EPOLLIN, 0));
	show_events("after MOD to level", set);
	show_events("again", set);
}

static void edge_ready(void)
{
	struct pair pair = pair_used();
	int set = set_new();

	send_text(pair.client, "abc");
	wait_octets(pair.server, 3);
	add(set, pair.server, EPOLLIN | EPOLLET);
	show_events("data before ADD", set);
	show_events("again", set);
}

static void edge_out(void)
{
	struct pair pair = pair_used();
	struct epoll_event event;
	int set = set_new();
	size_t count = 0;

	add(set, pair.client, EPOLLOUT | EPOLLET);
	show_events("writable", set);
	show_events("again", set);
	/* Some space may appear between two sends. */
	do
		fill_more(pair.client, &count);
	while (epoll_wait(set, &event, 1, 0) > 0);
	say("full: no event");
	recv_pattern(pair.server, count, 0);
	NEED(epoll_wait(set, &event, 1, -1) == 1);
	say("drained: %s", events_name(event.events));
	show_send("send", pair.client, "x", MSG_DONTWAIT);
}

static void edge_drain(void)
{
	struct pair pair = pair_used();
	struct epoll_event event;
	int set = set_new(), right = 0;

	set_nonblocking(pair.server, true);
	add(set, pair.server, EPOLLIN | EPOLLET);
	for (int i = 0; i < 300; i++) {
		char octets[64];
		ssize_t got = 0, part;

		send_pattern(pair.client, (size_t)(i % 50) + 1, 0);
		while (got < i % 50 + 1) {
			NEED(epoll_wait(set, &event, 1, -1) == 1);
			while ((part = recv(pair.server, octets, 7, 0)) > 0)
				got += part;
			NEED(part < 0 && errno == EAGAIN);
		}
		right += got == i % 50 + 1;
	}
	say("%d of 300 were right", right);
}

static void one_shot(void)
{
	struct pair pair = pair_used();
	int set = set_new();

	add(set, pair.server, EPOLLIN | EPOLLONESHOT);
	show_events("idle", set);
	send_text(pair.client, "abc");
	wait_octets(pair.server, 3);
	show_events("data", set);
	show_events("again", set);
	send_text(pair.client, "def");
	wait_octets(pair.server, 6);
	show_events("more data", set);
	NEED(!control(set, EPOLL_CTL_MOD, pair.server, EPOLLIN | EPOLLONESHOT,
		      0));
	show_events("after MOD", set);
	show_events("again", set);
}

static void one_shot_spent(void)
{
	struct linger linger = { .l_onoff = 1 };
	struct pair pair = pair_used();
	int set = set_new(), other = set_new();

	add(set, pair.server, EPOLLOUT | EPOLLONESHOT);
	add(other, pair.server, 0);
	show_events("writable", set);
	NEED(!setsockopt(pair.client, SOL_SOCKET, SO_LINGER, &linger,
			 sizeof(linger)));
	close(pair.client);
	wait_poll(pair.server, POLLERR | POLLHUP);
	show_events("reset, the one-shot spent", set);
	show_events("reset, events 0", other);
	NEED(!control(set, EPOLL_CTL_MOD, pair.server, EPOLLONESHOT, 0));
	show_events("after MOD", set);
}

static void end_of_stream(void)
{
	struct pair pair = pair_used();
	int set = set_new();

	add(set, pair.server, EPOLLIN | EPOLLRDHUP);
	NEED(shutdown(pair.client, SHUT_WR) == 0);
	wait_poll(pair.server, POLLRDHUP);
	show_events("the peer's end", set);
	NEED(!control(set, EPOLL_CTL_MOD, pair.server, EPOLLIN, 0));
	show_events("without RDHUP", set);
	NEED(shutdown(pair.server, SHUT_WR) == 0);
	wait_poll(pair.server, POLLHUP);
	show_events("both ends", set);
	NEED(!control(set, EPOLL_CTL_MOD, pair.server, 0, 0));
	show_events("events 0", set);
}

static void fresh(void)
{
	int fd = socket_new(), listener = listen_new(1), set = set_new();
	struct address address = address_of(listener);

	add(set, fd, ALL);
	show_events("fresh", set);
	NEED(connect(fd, &address.any, address.len) == 0);
	show_events("connected", set);
	send_text(take_connection(listener), "x");
	wait_poll(fd, POLLIN);
	show_events("data", set);
}

static void fresh_edge(void)
{
	int fd = socket_new(), listener = listen_new(1), set = set_new(), other;
	struct address address = address_of(listener);
	struct epoll_event event;

	set_nonblocking(fd, true);
	add(set, fd, ALL | EPOLLET);
	show_events("fresh", set);
	show_events("again", set);
	SHOW("connect", connect(fd, &address.any, address.len));
	NEED(epoll_wait(set, &event, 1, -1) == 1);
	say("connected: %s", events_name(event.events));
	other = take_connection(listener);
	show_events("again", set);
	send_text(other, "x");
	NEED(epoll_wait(set, &event, 1, -1) == 1);
	say("data: %s", events_name(event.events));
}

static void connecting(void)
{
	struct full_listener full = full_listener_new();
	int bound = bound_new(), fd = socket_new(), set = set_new();
	struct address address = address_of(bound);
	struct epoll_event event;

	set_nonblocking(fd, true);
	SHOW("connect", connect(fd, &address.any, address.len));
	add(set, fd, EPOLLOUT | EPOLLET);
	NEED(epoll_wait(set, &event, 1, -1) == 1);
	say("refused: %s", events_name(event.events));
	close(fd);
	fd = socket_new();
	set_nonblocking(fd, true);
	SHOW("connect", connect(fd, &full.address.any, full.address.len));
	add(set, fd, EPOLLIN | EPOLLOUT | EPOLLET);
	show_events("pending", set);
	take_connection(full.listener);
	NEED(epoll_wait(set, &event, 1, -1) == 1);
	say("connected: %s", events_name(event.events));
	show_so_error("SO_ERROR", fd);
}

static void accepted(void)
{
	int listener = listen_new(1), set = set_new(), client, fd;
	struct address address = address_of(listener);
	struct epoll_event event;

	client = dial(&address);
	fd = take_connection(listener);
	add(set, fd, EPOLLIN | EPOLLET);
	show_events("accepted", set);
	send_text(client, "abc");
	NEED(epoll_wait(set, &event, 1, -1) == 1);
	say("data: %s", events_name(event.events));
	show_recv("recv", fd, 10, 0);
	send_text(client, "def");
	NEED(epoll_wait(set, &event, 1, -1) == 1);
	say("data: %s", events_name(event.events));
}

/* Neither end has sent anything, and the accepting one may write. */
static void accepted_out(void)
{
	struct pair pair = pair_new();
	struct epoll_event event;
	int set = set_new();

	add(set, pair.server, EPOLLOUT);
	NEED(epoll_wait(set, &event, 1, -1) == 1);
	say("level: %s", events_name(event.events));
	set = set_new();
	add(set, pair.server, EPOLLIN | EPOLLOUT | EPOLLET);
	NEED(epoll_wait(set, &event, 1, -1) == 1);
	say("edge: %s", events_name(event.events));
	send_text(pair.server, "first");
	show_recv("the greeting", pair.client, 10, 0);
}

static void data_field(void)
{
	struct pair pair = pair_used();
	struct epoll_event list[2];
	int set = set_new();

	NEED(!control(set, EPOLL_CTL_ADD, pair.client, EPOLLOUT,
		      0x123456789abcdef0));
	NEED(epoll_wait(set, list, 2, -1) == 1);
	say("data %llx", (unsigned long long)list[0].data.u64);
	NEED(!control(set, EPOLL_CTL_MOD, pair.client, EPOLLOUT, UINT64_MAX));
	NEED(epoll_wait(set, list, 2, -1) == 1);
	say("data %llx", (unsigned long long)list[0].data.u64);
}

static void errors(void)
{
	struct pair pair = pair_used();
	struct epoll_event event;
	int set = set_new();

	SHOW("MOD before ADD",
	     control(set, EPOLL_CTL_MOD, pair.client, EPOLLIN, 0));
	SHOW("DEL before ADD",
	     epoll_ctl(set, EPOLL_CTL_DEL, pair.client, NULL));
	SHOW("ADD", control(set, EPOLL_CTL_ADD, pair.client, EPOLLIN, 0));
	SHOW("ADD again", control(set, EPOLL_CTL_ADD, pair.client, EPOLLIN, 0));
	SHOW("unknown call", control(set, 9, pair.client, EPOLLIN, 0));
	SHOW("ADD of itself", control(set, EPOLL_CTL_ADD, set, EPOLLIN, 0));
	SHOW("ADD of a closed number",
	     control(set, EPOLL_CTL_ADD, 499, EPOLLIN, 0));
	SHOW("ADD to a socket",
	     control(pair.server, EPOLL_CTL_ADD, pair.client, EPOLLIN, 0));
	SHOW("ADD with a bad pointer",
	     epoll_ctl(set, EPOLL_CTL_ADD, pair.server, (void *)16));
	SHOW("wait for 0 events", epoll_wait(set, &event, 0, 0));
	SHOW("wait on a socket", epoll_wait(pair.client, &event, 1, 0));
	SHOW("DEL", epoll_ctl(set, EPOLL_CTL_DEL, pair.client, NULL));
	SHOW("DEL again", epoll_ctl(set, EPOLL_CTL_DEL, pair.client, NULL));
}

static void removed(void)
{
	struct pair pair = pair_used();
	int set = set_new();

	add(set, pair.client, EPOLLOUT);
	show_events("there", set);
	NEED(epoll_ctl(set, EPOLL_CTL_DEL, pair.client, NULL) == 0);
	show_events("removed", set);
	add(set, pair.client, EPOLLOUT);
	show_events("there", set);
	close(pair.client);
	show_events("closed", set);
	SHOW("DEL", epoll_ctl(set, EPOLL_CTL_DEL, pair.client, NULL));
}

static void by_dup(void)
{
	struct pair pair = pair_used();
	int set = set_new(), copy = dup(pair.client);

	add(set, pair.client, EPOLLIN);
	close(pair.client);
	send_text(pair.server, "x");
	wait_poll(copy, POLLIN);
	show_events("the number is closed, a dup lives", set);
	SHOW("DEL by the number",
	     epoll_ctl(set, EPOLL_CTL_DEL, pair.client, NULL));
	SHOW("DEL by the dup", epoll_ctl(set, EPOLL_CTL_DEL, copy, NULL));
	close(copy);
	show_events("the dup is closed", set);
}

static void both_numbers(void)
{
	struct pair pair = pair_used();
	struct epoll_event list[4];
	int set = set_new(), copy = dup(pair.client);

	add(set, pair.client, EPOLLIN);
	add(set, copy, EPOLLIN | EPOLLET);
	send_text(pair.server, "x");
	wait_poll(copy, POLLIN);
	SHOW("events of both", epoll_wait(set, list, 4, 0));
	SHOW("events of one", epoll_wait(set, list, 4, 0));
}

static void number_again(void)
{
	struct pair pair = pair_used();
	int set = set_new(), number = pair.client, fd;

	add(set, number, EPOLLIN);
	close(number);
	fd = socket_new();
	NEED(dup2(fd, number) == number);
	show_events("another socket has the number", set);
	add(set, number, EPOLLOUT);
	show_events("added again", set);
}

static void two_sets(void)
{
	struct pair pair = pair_used();
	int level_set = set_new(), edge_set = set_new();

	add(level_set, pair.server, EPOLLIN);
	add(edge_set, pair.server, EPOLLIN | EPOLLET);
	send_text(pair.client, "x");
	wait_octets(pair.server, 1);
	show_events("level", level_set);
	show_events("edge", edge_set);
	show_events("level", level_set);
	show_events("edge", edge_set);
}

static void nested(void)
{
	struct pair pair = pair_used();
	struct epoll_event event;
	int inner = set_new(), outer = set_new();

	add(inner, pair.server, EPOLLIN);
	add(outer, inner, EPOLLIN);
	show_events("outer, idle", outer);
	show_poll("poll of inner, idle", inner, POLLIN);
	send_text(pair.client, "x");
	NEED(epoll_wait(outer, &event, 1, -1) == 1);
	say("outer, data: %s", events_name(event.events));
	show_poll("poll of inner", inner, POLLIN);
	show_events("inner", inner);
	show_recv("recv", pair.server, 10, 0);
	show_events("inner", inner);
	show_events("outer", outer);
}

static void exclusive(void)
{
	int listener = listen_new(4), first = set_new(), second = set_new();
	struct address address = address_of(listener);

	SHOW("ADD", control(first, EPOLL_CTL_ADD, listener,
			    EPOLLIN | EPOLLEXCLUSIVE, 1));
	SHOW("ADD to another", control(second, EPOLL_CTL_ADD, listener,
				       EPOLLIN | EPOLLEXCLUSIVE, 2));
	SHOW("MOD", control(first, EPOLL_CTL_MOD, listener, EPOLLIN, 1));
	SHOW("MOD to exclusive", control(first, EPOLL_CTL_MOD, listener,
					 EPOLLIN | EPOLLEXCLUSIVE, 1));
	SHOW("with one-shot",
	     control(set_new(), EPOLL_CTL_ADD, listener,
		     EPOLLIN | EPOLLEXCLUSIVE | EPOLLONESHOT, 1));
	show_events("idle", first);
	dial(&address);
	wait_poll(listener, POLLIN);
	show_events("a connection", first);
	take_connection(listener);
	show_events("accepted", first);
	show_events("accepted", second);
}

static void exclusive_socket(void)
{
	struct pair pair = pair_used();
	int set = set_new();

	add(set, pair.server, EPOLLIN | EPOLLEXCLUSIVE);
	send_text(pair.client, "x");
	wait_octets(pair.server, 1);
	show_events("data", set);
	SHOW("MOD", control(set, EPOLL_CTL_MOD, pair.server, EPOLLIN, 0));
}

static void many(void)
{
	enum { COUNT = 40 };
	int listener = listen_new(COUNT), set = set_new(), seen = 0;
	struct address address = address_of(listener);
	struct epoll_event list[COUNT];
	int clients[COUNT], fds[COUNT];

	for (int i = 0; i < COUNT; i++) {
		clients[i] = dial(&address);
		fds[i] = take_connection(listener);
		NEED(!control(set, EPOLL_CTL_ADD, fds[i], EPOLLIN,
			      (uint64_t)i));
	}
	SHOW("idle", epoll_wait(set, list, COUNT, 0));
	for (int i = 0; i < COUNT; i += 3) {
		send_text(clients[i], "x");
		wait_poll(fds[i], POLLIN);
	}
	SHOW("some have data", epoll_wait(set, list, COUNT, -1));
	for (int i = 0; i < COUNT / 3 + 1; i++)
		seen += list[i].data.u64 % 3 == 0;
	say("%d of them rightly", seen);
	seen = 0;
	/* With one event per call, all ready sockets are reported in turn. */
	for (int i = 0; i < COUNT / 3 + 1; i++) {
		char octet;

		NEED(epoll_wait(set, list, 1, 0) == 1);
		seen += recv(fds[list[0].data.u64], &octet, 1, MSG_DONTWAIT);
	}
	say("%d read one by one", seen);
	SHOW("idle", epoll_wait(set, list, COUNT, 0));
}

static void round_robin(void)
{
	struct pair first = pair_used(), second = pair_used();
	struct epoll_event event;
	uint64_t turns[4];
	int set = set_new();

	NEED(!control(set, EPOLL_CTL_ADD, first.client, EPOLLOUT, 1));
	NEED(!control(set, EPOLL_CTL_ADD, second.client, EPOLLOUT, 2));
	for (int i = 0; i < 4; i++) {
		NEED(epoll_wait(set, &event, 1, 0) == 1);
		turns[i] = event.data.u64;
	}
	say("the two take turns: %d", turns[0] != turns[1] &&
					      turns[1] != turns[2] &&
					      turns[2] != turns[3]);
}

static void timeouts(void)
{
	struct pair pair = pair_used();
	struct timespec limit = { .tv_nsec = 5000000 };
	struct epoll_event event;
	int set = set_new();

	add(set, pair.server, EPOLLIN);
	SHOW("epoll_wait, 0 ms", epoll_wait(set, &event, 1, 0));
	SHOW("epoll_wait, 5 ms", epoll_wait(set, &event, 1, 5));
	SHOW("epoll_pwait, 5 ms", epoll_pwait(set, &event, 1, 5, NULL));
	SHOW("epoll_pwait2, 5 ms", epoll_pwait2(set, &event, 1, &limit, NULL));
	send_text(pair.client, "x");
	SHOW("epoll_pwait2, data", epoll_pwait2(set, &event, 1, NULL, NULL));
	limit.tv_nsec = 1000000000;
	SHOW("epoll_pwait2, bad time",
	     epoll_pwait2(set, &event, 1, &limit, NULL));
}

static void wait_main(void *arg)
{
	struct epoll_event event;
	int count = epoll_wait(*(int *)arg, &event, 1, -1);

	if (count < 0)
		say("the sleeping epoll_wait: %s", error_name(errno));
	else
		say("the sleeping epoll_wait: %s", events_name(event.events));
}

static void wait_weeks_main(void *arg)
{
	/* 2^32 + 1 ms: only epoll_pwait2() accepts it. */
	struct timespec limit = { .tv_sec = 4294967, .tv_nsec = 297000000 };
	struct epoll_event event;

	SHOW("the sleeping epoll_pwait2",
	     epoll_pwait2(*(int *)arg, &event, 1, &limit, NULL));
}

/* Before and after the process uses SDP. */
static void long_timeouts(void)
{
	struct sleeper sleeper;
	int set = set_new(), ends[2];
	struct pair pair;

	NEED(pipe(ends) == 0);
	add(set, ends[0], EPOLLIN);
	sleeper_start_asleep(&sleeper, wait_weeks_main, &set);
	NEED(write(ends[1], "x", 1) == 1);
	sleeper_end(&sleeper);
	pair = pair_used();
	set = set_new();
	add(set, pair.server, EPOLLIN);
	sleeper_start_asleep(&sleeper, wait_weeks_main, &set);
	send_text(pair.client, "x");
	sleeper_end(&sleeper);
}

static void wakes_data(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;
	int set = set_new();

	add(set, pair.server, EPOLLIN | EPOLLRDHUP);
	sleeper_start_asleep(&sleeper, wait_main, &set);
	send_text(pair.client, "abc");
	sleeper_end(&sleeper);
	show_recv("recv", pair.server, 10, 0);
	sleeper_start_asleep(&sleeper, wait_main, &set);
	close(pair.client);
	sleeper_end(&sleeper);
}

static void wakes_added(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;
	int set = set_new();

	send_text(pair.client, "abc");
	wait_octets(pair.server, 3);
	sleeper_start_asleep(&sleeper, wait_main, &set);
	add(set, pair.server, EPOLLIN);
	sleeper_end(&sleeper);
}

static void interrupted(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;
	int set = set_new();

	add(set, pair.server, EPOLLIN);
	catch_signal(SIGUSR1, SA_RESTART);
	sleeper_start_asleep(&sleeper, wait_main, &set);
	pthread_kill(sleeper.thread, SIGUSR1);
	sleeper_end(&sleeper);
}

static void pending_signal(void)
{
	struct pair pair = pair_used();
	struct epoll_event event;
	sigset_t none;
	int set = set_new();

	add(set, pair.client, EPOLLIN);
	sigemptyset(&none);
	block_usr1();
	raise(SIGUSR1);
	SHOW("epoll_pwait, nothing ready",
	     epoll_pwait(set, &event, 1, -1, &none));
	say("%d signals", caught[SIGUSR1]);
	send_text(pair.server, "x");
	wait_poll(pair.client, POLLIN);
	raise(SIGUSR1);
	SHOW("epoll_pwait, ready", epoll_pwait(set, &event, 1, -1, &none));
	SHOW("epoll_pwait2, ready", epoll_pwait2(set, &event, 1, NULL, &none));
}

struct waiters {
	int set;
	int stop;
	atomic_int seen;
};

static void waiters_main(void *arg)
{
	struct waiters *waiters = arg;
	struct epoll_event event;

	for (;;) {
		NEED(epoll_wait(waiters->set, &event, 1, -1) == 1);
		if (event.data.fd == waiters->stop)
			return;
		waiters->seen++;
	}
}

/* One edge wakes one thread. */
static void edge_one_thread(void)
{
	struct pair pair = pair_used();
	struct waiters waiters = { .set = set_new(), .stop = eventfd(0, 0) };
	struct sleeper sleepers[3];

	NEED(!control(waiters.set, EPOLL_CTL_ADD, pair.server,
		      EPOLLIN | EPOLLET, (uint64_t)pair.server));
	for (int i = 0; i < 3; i++) {
		sleeper_start_asleep(&sleepers[i], waiters_main, &waiters);
	}
	for (int i = 1; i <= 5; i++) {
		send_text(pair.client, "x");
		UNTIL(waiters.seen >= i);
		for (int j = 0; j < 3; j++)
			sleeper_wait(&sleepers[j]);
	}
	NEED(!control(waiters.set, EPOLL_CTL_ADD, waiters.stop, EPOLLIN,
		      (uint64_t)waiters.stop));
	NEED(eventfd_write(waiters.stop, 1) == 0);
	for (int i = 0; i < 3; i++)
		sleeper_end(&sleepers[i]);
	say("%d events of 5 arrivals", waiters.seen);
}

static void inherited_child(void *arg)
{
	int set = *(int *)arg;
	struct epoll_event event;

	/* The parent becomes a relay, and the octet is on its way. */
	NEED(epoll_wait(set, &event, 1, -1) == 1);
	show_events("in the child", set);
}

static void inherited(void)
{
	struct pair pair = pair_used();
	int set = set_new();

	add(set, pair.server, EPOLLIN);
	send_text(pair.client, "x");
	wait_poll(pair.server, POLLIN);
	child_end(child_start(inherited_child, &set));
	show_events("in the parent", set);
}

static void priority_words(void)
{
	struct pair pair = pair_used();
	int set = set_new();

	send_text(pair.client, "x");
	wait_octets(pair.server, 1);
	add(set, pair.server, EPOLLRDNORM | EPOLLWRNORM);
	show_events("RDNORM and WRNORM", set);
	NEED(!control(set, EPOLL_CTL_MOD, pair.server,
		      EPOLLRDBAND | EPOLLWRBAND | EPOLLPRI, 0));
	show_events("RDBAND, WRBAND and PRI", set);
	SHOW("with EPOLLWAKEUP", control(set, EPOLL_CTL_MOD, pair.server,
					 EPOLLIN | EPOLLWAKEUP, 0));
	show_events("it", set);
}

const struct sock_case epoll_cases[] = {
	{ "epoll.level", level },
	{ "epoll.edge", edge },
	{ "epoll.edge-both", edge_both },
	{ "epoll.edge-modify", edge_modify },
	{ "epoll.edge-ready", edge_ready },
	{ "epoll.edge-out", edge_out },
	{ "epoll.edge-drain", edge_drain },
	{ "epoll.one-shot", one_shot },
	{ "epoll.one-shot-spent", one_shot_spent },
	{ "epoll.end-of-stream", end_of_stream },
	{ "epoll.fresh", fresh },
	{ "epoll.fresh-edge", fresh_edge },
	{ "epoll.connecting", connecting },
	{ "epoll.accepted", accepted },
	{ "epoll.accepted-out", accepted_out },
	{ "epoll.data-field", data_field },
	{ "epoll.errors", errors },
	{ "epoll.removed", removed },
	{ "epoll.by-dup", by_dup },
	{ "epoll.both-numbers", both_numbers },
	{ "epoll.number-again", number_again },
	{ "epoll.two-sets", two_sets },
	{ "epoll.nested", nested },
	{ "epoll.exclusive", exclusive },
	{ "epoll.exclusive-socket", exclusive_socket },
	{ "epoll.many", many },
	{ "epoll.round-robin", round_robin },
	{ "epoll.timeouts", timeouts },
	{ "epoll.long-timeouts", long_timeouts },
	{ "epoll.wakes-data", wakes_data },
	{ "epoll.wakes-added", wakes_added },
	{ "epoll.interrupted", interrupted },
	{ "epoll.pending-signal", pending_signal },
	{ "epoll.edge-one-thread", edge_one_thread },
	{ "epoll.inherited", inherited },
	{ "epoll.priority-words", priority_words },
	{ NULL, NULL },
};
