/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Urgent data: MSG_OOB, the mark, SIGURG. */
#include "cases.h"

#include <linux/sockios.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/select.h>

#define ALL (POLLIN | POLLOUT | POLLPRI | POLLRDHUP)

static void show_mark(const char *what, int fd)
{
	int is_there = -1;

	NEED(ioctl(fd, SIOCATMARK, &is_there) == 0);
	say("%s: at the mark: %d", what, is_there);
}

static void one_octet(void)
{
	struct pair pair = pair_used();

	show_send("send", pair.client, "!", MSG_OOB);
	wait_poll(pair.server, POLLPRI);
	show_poll("poll", pair.server, ALL);
	show_recv("recv of it", pair.server, 10, MSG_OOB);
	show_recv("recv of data", pair.server, 10, MSG_DONTWAIT);
	show_recv("recv of it again", pair.server, 10, MSG_OOB);
	show_poll("poll afterwards", pair.server, ALL);
}

static void none(void)
{
	struct pair pair = pair_used();

	show_recv("nothing urgent", pair.server, 10, MSG_OOB);
	send_text(pair.client, "abc");
	wait_octets(pair.server, 3);
	show_recv("only data", pair.server, 10, MSG_OOB);
	show_recv("on a listener", listen_new(1), 10, MSG_OOB);
	show_recv("on a fresh socket", socket_new(), 10, MSG_OOB);
	show_send("sent on a fresh socket", socket_new(), "!",
		  MSG_OOB | MSG_NOSIGNAL);
}

/* What was sent may still be handled by the receiver. */
static void reads_stop(void)
{
	struct pair pair = pair_used();

	send_text(pair.client, "before");
	show_send("urgent", pair.client, "!", MSG_OOB);
	send_text(pair.client, "after");
	wait_sent(pair.client);
	wait_poll(pair.server, POLLPRI);
	show_mark("first", pair.server);
	show_recv("recv", pair.server, 99, 0);
	show_mark("then", pair.server);
	show_recv("the urgent octet", pair.server, 99, MSG_OOB);
	show_recv("recv", pair.server, 99, 0);
	show_mark("last", pair.server);
}

static void last_of_many(void)
{
	struct pair pair = pair_used();

	show_send("send", pair.client, "abc", MSG_OOB);
	wait_poll(pair.server, POLLPRI);
	show_recv("urgent", pair.server, 99, MSG_OOB);
	show_recv("data", pair.server, 99, 0);
}

static void wait_urgent(int fd, char octet)
{
	char found = 0;

	while (recv(fd, &found, 1, MSG_OOB | MSG_PEEK) != 1 || found != octet)
		sched_yield();
}

/*
 * The first urgent octet becomes data. Linux drops it if all octets before it
 * were read, which no program should rely on: here some were not.
 */
static void second(void)
{
	struct pair pair = pair_used();

	send_text(pair.client, "before");
	show_send("urgent", pair.client, "1", MSG_OOB);
	wait_poll(pair.server, POLLPRI);
	send_text(pair.client, "between");
	wait_sent(pair.client);
	show_send("urgent", pair.client, "2", MSG_OOB);
	send_text(pair.client, "after");
	wait_sent(pair.client);
	/* What was sent may still be handled by the receiver. */
	wait_urgent(pair.server, '2');
	show_recv("the urgent one", pair.server, 99, MSG_OOB);
	show_mark("first", pair.server);
	show_recv("data", pair.server, 99, 0);
	show_mark("then", pair.server);
	show_recv("data", pair.server, 99, 0);
}

static void in_line(void)
{
	struct pair pair = pair_used();

	set_int(pair.server, SOL_SOCKET, SO_OOBINLINE, 1);
	send_text(pair.client, "before");
	show_send("urgent", pair.client, "!", MSG_OOB);
	send_text(pair.client, "after");
	wait_sent(pair.client);
	wait_poll(pair.server, POLLPRI);
	show_recv("MSG_OOB", pair.server, 99, MSG_OOB);
	show_recv("recv", pair.server, 99, 0);
	show_mark("then", pair.server);
	show_recv("recv", pair.server, 99, 0);
	show_mark("last", pair.server);
}

static void passed_over(void)
{
	struct pair pair = pair_used();

	send_text(pair.client, "ab");
	show_send("urgent", pair.client, "!", MSG_OOB);
	send_text(pair.client, "cd");
	wait_sent(pair.client);
	wait_poll(pair.server, POLLPRI);
	show_recv("recv", pair.server, 99, 0);
	show_recv("recv", pair.server, 99, 0);
	show_recv("MSG_OOB after it", pair.server, 99, MSG_OOB);
	show_poll("poll", pair.server, ALL);
}

static void skipped(void)
{
	struct pair pair = pair_used();

	show_send("urgent", pair.client, "!", MSG_OOB);
	wait_poll(pair.server, POLLPRI);
	show_recv("recv of data", pair.server, 10, MSG_DONTWAIT);
	show_recv("recv of it", pair.server, 10, MSG_OOB);
}

static void peeked(void)
{
	struct pair pair = pair_used();

	show_send("urgent", pair.client, "!", MSG_OOB);
	wait_poll(pair.server, POLLPRI);
	show_recv("peek", pair.server, 10, MSG_OOB | MSG_PEEK);
	show_recv("peek", pair.server, 10, MSG_OOB | MSG_PEEK);
	show_recv("take", pair.server, 10, MSG_OOB);
	show_recv("peek", pair.server, 10, MSG_OOB | MSG_PEEK);
}

static void by_signal(void)
{
	struct pair pair = pair_used();

	catch_signal(SIGURG, SA_RESTART);
	SHOW("F_SETOWN", fcntl(pair.server, F_SETOWN, getpid()));
	show_send("urgent", pair.client, "!", MSG_OOB);
	UNTIL(caught[SIGURG] > 0);
	say("SIGURG came");
	wait_poll(pair.server, POLLPRI);
	show_recv("take", pair.server, 10, MSG_OOB);
}

static void by_select(void)
{
	struct pair pair = pair_used();
	fd_set except;

	FD_ZERO(&except);
	FD_SET(pair.server, &except);
	show_send("urgent", pair.client, "!", MSG_OOB);
	SHOW("select", select(pair.server + 1, NULL, NULL, &except, NULL));
	show_recv("take", pair.server, 10, MSG_OOB);
}

static void by_epoll(void)
{
	struct pair pair = pair_used();
	struct epoll_event event = { .events = EPOLLPRI | EPOLLET };
	int set = epoll_create1(0);

	NEED(!epoll_ctl(set, EPOLL_CTL_ADD, pair.server, &event));
	for (int i = 0; i < 2; i++) {
		show_send("urgent", pair.client, "!", MSG_OOB);
		NEED(epoll_wait(set, &event, 1, -1) == 1);
		say("epoll_wait: %s", events_name(event.events));
		show_recv("take", pair.server, 10, MSG_OOB);
	}
}

static void by_epoll_beside_data(void)
{
	static const uint32_t kinds[] = { 0, EPOLLET };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct pair pair = pair_used();
		struct epoll_event event = { .events = EPOLLPRI | EPOLLIN |
						       kinds[i] };
		int set = epoll_create1(0);

		NEED(!epoll_ctl(set, EPOLL_CTL_ADD, pair.server, &event));
		show_send("urgent", pair.client, "!", MSG_OOB);
		NEED(epoll_wait(set, &event, 1, -1) == 1);
		say("epoll_wait: %s", events_name(event.events));
		show_recv("take", pair.server, 10, MSG_OOB);
		send_text(pair.client, "x");
		NEED(epoll_wait(set, &event, 1, -1) == 1);
		say("epoll_wait: %s", events_name(event.events));
	}
}

static void wakes_poll(void)
{
	struct pair pair = pair_used();
	struct watched watched = { pair.server, POLLPRI };
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, sleeping_poll, &watched);
	send_text(pair.client, "data");
	wait_octets(pair.server, 4);
	sleeper_wait(&sleeper);
	say("data does not wake it");
	NEED(send(pair.client, "!", 1, MSG_OOB) == 1);
	sleeper_end(&sleeper);
	show_recv("take", pair.server, 10, MSG_OOB);
	show_recv("data", pair.server, 10, 0);
}

static void taken_before_data(void)
{
	struct pair pair = pair_used();

	send_text(pair.client, "abc");
	show_send("urgent", pair.client, "!", MSG_OOB);
	wait_poll(pair.server, POLLPRI);
	show_recv("urgent first", pair.server, 10, MSG_OOB);
	show_poll("poll", pair.server, ALL);
	show_recv("data", pair.server, 10, 0);
	show_mark("then", pair.server);
	show_poll("poll", pair.server, ALL);
}

static void then_end(void)
{
	struct pair pair = pair_used();

	show_send("urgent", pair.client, "!", MSG_OOB);
	close(pair.client);
	wait_poll(pair.server, POLLRDHUP);
	show_poll("poll", pair.server, ALL);
	show_recv("urgent", pair.server, 10, MSG_OOB);
	show_recv("data", pair.server, 10, 0);
}

static void both_ways(void)
{
	struct pair pair = pair_used();

	show_send("the server sends", pair.server, "s", MSG_OOB);
	show_send("the client sends", pair.client, "c", MSG_OOB);
	wait_poll(pair.client, POLLPRI);
	wait_poll(pair.server, POLLPRI);
	show_recv("the client", pair.client, 10, MSG_OOB);
	show_recv("the server", pair.server, 10, MSG_OOB);
}

static void many_turns(void)
{
	struct pair pair = pair_used();
	int right = 0;

	for (int i = 0; i < 100; i++) {
		char octet = (char)i, text[8];

		send_text(pair.client, "data");
		NEED(send(pair.client, &octet, 1, MSG_OOB) == 1);
		wait_poll(pair.server, POLLPRI);
		octet = 0;
		right += recv(pair.server, &octet, 1, MSG_OOB) == 1 &&
			 octet == (char)i;
		right += recv(pair.server, text, 4, MSG_WAITALL) == 4;
	}
	say("%d of 200 were right", right);
}

/* The reader is at an urgent octet that it has taken, when the next one
 * arrives: the old one does not become data. */
static void at_mark(void)
{
	struct pair pair = pair_used();

	send_text(pair.client, "one");
	NEED(send(pair.client, "!", 1, MSG_OOB) == 1);
	wait_poll(pair.server, POLLPRI);
	show_recv("urgent", pair.server, 1, MSG_OOB);
	show_recv("data", pair.server, 10, 0);
	send_text(pair.client, "two");
	NEED(send(pair.client, "?", 1, MSG_OOB) == 1);
	wait_poll(pair.server, POLLPRI);
	show_recv("urgent", pair.server, 1, MSG_OOB);
	show_recv("data", pair.server, 10, 0);
}

static void waiting_all(void)
{
	struct pair pair = pair_used();

	send_text(pair.client, "before");
	show_send("urgent", pair.client, "!", MSG_OOB);
	send_text(pair.client, "after");
	wait_sent(pair.client);
	show_recv("MSG_WAITALL across the mark", pair.server, 11, MSG_WAITALL);
	show_recv("the rest", pair.server, 99, 0);
}

const struct sock_case oob_cases[] = {
	{ "oob.one-octet", one_octet },
	{ "oob.none", none },
	{ "oob.reads-stop", reads_stop },
	{ "oob.last-of-many", last_of_many },
	{ "oob.second", second },
	{ "oob.in-line", in_line },
	{ "oob.passed-over", passed_over },
	{ "oob.skipped", skipped },
	{ "oob.peeked", peeked },
	{ "oob.by-signal", by_signal },
	{ "oob.by-select", by_select },
	{ "oob.by-epoll", by_epoll },
	{ "oob.by-epoll-beside-data", by_epoll_beside_data },
	{ "oob.wakes-poll", wakes_poll },
	{ "oob.taken-before-data", taken_before_data },
	{ "oob.then-end", then_end },
	{ "oob.both-ways", both_ways },
	{ "oob.many-turns", many_turns },
	{ "oob.at-mark", at_mark },
	{ "oob.waiting-all", waiting_all },
	{ NULL, NULL },
};
