/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Several threads and one socket; close() while another thread sleeps. */
#include "cases.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

static void close_recv(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;
	int number = pair.server;

	sleeper_start_asleep(&sleeper, sleeping_recv, &pair.server);
	SHOW("close", close(number));
	sleeper_wait(&sleeper);
	say("recv sleeps on");
	send_text(pair.client, "later");
	sleeper_end(&sleeper);
	/* Now the last reference is dropped. */
	show_recv("the peer", pair.client, 10, 0);
}

static void close_recv_end(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, sleeping_recv, &pair.server);
	SHOW("close", close(pair.server));
	sleeper_wait(&sleeper);
	NEED(shutdown(pair.client, SHUT_WR) == 0);
	sleeper_end(&sleeper);
}

static void close_recv_number(void)
{
	struct pair pair = pair_used(), other = pair_used();
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, sleeping_recv, &pair.server);
	/* The number gets another socket while recv sleeps on the old one. */
	NEED(dup2(other.server, pair.server) == pair.server);
	sleeper_wait(&sleeper);
	send_text(other.client, "other");
	wait_octets(pair.server, 5);
	sleeper_wait(&sleeper);
	say("recv sleeps on");
	send_text(pair.client, "old");
	sleeper_end(&sleeper);
	show_recv("the number", pair.server, 10, 0);
}

static void close_poll(void)
{
	struct pair pair = pair_used();
	struct watched watched = { pair.server, POLLIN };
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, sleeping_poll, &watched);
	SHOW("close", close(pair.server));
	sleeper_wait(&sleeper);
	say("poll sleeps on");
	send_text(pair.client, "later");
	sleeper_end(&sleeper);
}

/* Nothing but the file that it waits for wakes it. */
static void close_poll_beside(void)
{
	struct pair pair = pair_used(), other = pair_used();
	struct watched watched = { pair.server, POLLIN };
	struct sleeper sleeper;
	char octets[6];

	sleeper_start_asleep(&sleeper, sleeping_poll, &watched);
	SHOW("close", close(pair.server));
	for (int i = 0; i < 20; i++) {
		send_text(other.client, "beside");
		wait_octets(other.server, 6);
		NEED(recv(other.server, octets, sizeof(octets), 0) == 6);
	}
	sleeper_wait(&sleeper);
	say("poll sleeps on");
	send_text(pair.client, "later");
	sleeper_end(&sleeper);
}

struct epoll_sleeper {
	int set, stop;
};

static void epoll_main(void *arg)
{
	const struct epoll_sleeper *e = arg;
	struct epoll_event event;

	NEED(epoll_wait(e->set, &event, 1, -1) == 1);
	say("the sleeping epoll_wait is woken by %s",
	    event.data.fd == e->stop ? "the program" : "the socket");
}

static void close_epoll(void)
{
	struct epoll_sleeper e = { epoll_create1(0), eventfd(0, 0) };
	struct epoll_event event = { .events = EPOLLIN };
	struct pair pair = pair_used();
	struct sleeper sleeper;

	event.data.fd = pair.server;
	NEED(!epoll_ctl(e.set, EPOLL_CTL_ADD, pair.server, &event));
	event.data.fd = e.stop;
	NEED(!epoll_ctl(e.set, EPOLL_CTL_ADD, e.stop, &event));
	sleeper_start_asleep(&sleeper, epoll_main, &e);
	SHOW("close", close(pair.server));
	show_recv("the peer", pair.client, 10, 0);
	sleeper_wait(&sleeper);
	NEED(eventfd_write(e.stop, 1) == 0);
	sleeper_end(&sleeper);
}

static void close_send(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;
	size_t count = fill(pair.client);

	sleeper_start_asleep(&sleeper, sleeping_send, &pair.client);
	SHOW("close", close(pair.client));
	recv_pattern(pair.server, count, 0);
	recv_pattern(pair.server, SLEEPING_SEND_LEN, 0);
	sleeper_end(&sleeper);
	show_recv("the peer", pair.server, 10, 0);
}

static void both_directions(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, sleeping_recv, &pair.client);
	send_text(pair.client, "to the server");
	show_recv("while a thread receives, another sends", pair.server, 20, 0);
	send_text(pair.server, "back");
	sleeper_end(&sleeper);
}

struct reader {
	int fd;
	atomic_long *total;
	atomic_long *right;
};

static void reader_main(void *arg)
{
	struct reader *reader = arg;
	unsigned char octets[1000];
	ssize_t got;

	while ((got = recv(reader->fd, octets, sizeof(octets), 0)) > 0) {
		atomic_fetch_add(reader->total, got);
		for (ssize_t i = 0; i < got; i++)
			atomic_fetch_add(reader->right, octets[i]);
	}
	NEED(got == 0);
}

static void many_readers(void)
{
	enum { READERS = 4, SIZE = 100000 };
	struct pair pair = pair_used();
	struct sleeper sleepers[READERS];
	struct reader reader;
	unsigned char *octets = malloc(SIZE);
	atomic_long total = 0, sum = 0;
	long want = 0;

	NEED(octets);
	reader = (struct reader){ pair.server, &total, &sum };
	for (int i = 0; i < READERS; i++)
		sleeper_start(&sleepers[i], reader_main, &reader);
	pattern_make(octets, SIZE, 0);
	for (int i = 0; i < SIZE; i++)
		want += octets[i];
	send_pattern(pair.client, SIZE, 0);
	NEED(shutdown(pair.client, SHUT_WR) == 0);
	for (int i = 0; i < READERS; i++)
		sleeper_end(&sleepers[i]);
	say("%d threads received %ld octets, their sum is right: %d", READERS,
	    total, sum == want);
	free(octets);
}

static void recv_one_main(void *arg)
{
	char octet;

	NEED(recv(*(int *)arg, &octet, 1, 0) == 1);
}

/* Both sleep before anything arrives. Each gets an octet in the end. */
static void first_readers(void)
{
	enum { ROUNDS = 50 };
	struct sleeper sleepers[2];

	for (int round = 0; round < ROUNDS; round++) {
		struct pair pair = pair_new();

		for (int i = 0; i < 2; i++) {
			sleeper_start_asleep(&sleepers[i], recv_one_main,
					     &pair.server);
		}
		NEED(send(pair.client, "a", 1, 0) == 1);
		NEED(send(pair.client, "b", 1, 0) == 1);
		for (int i = 0; i < 2; i++)
			sleeper_end(&sleepers[i]);
		close(pair.client);
		close(pair.server);
	}
	say("%d times two threads received an octet each", ROUNDS);
}

struct writer {
	int fd;
	char octet;
};

enum { RECORD = 100, RECORDS = 200, WRITERS = 4 };

static void writer_main(void *arg)
{
	const struct writer *writer = arg;
	char record[RECORD];

	memset(record, writer->octet, sizeof(record));
	for (int i = 0; i < RECORDS; i++)
		NEED(send(writer->fd, record, RECORD, 0) == RECORD);
}

static void many_writers(void)
{
	struct pair pair = pair_used();
	struct sleeper sleepers[WRITERS];
	struct writer writers[WRITERS];
	int counts[WRITERS] = { 0 }, whole = 0;
	char record[RECORD];

	for (int i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){ pair.client, (char)('a' + i) };
		sleeper_start(&sleepers[i], writer_main, &writers[i]);
	}
	for (int i = 0; i < WRITERS * RECORDS; i++) {
		bool is_whole = true;

		NEED(recv(pair.server, record, RECORD, MSG_WAITALL) == RECORD);
		for (int j = 0; j < RECORD; j++) {
			counts[record[j] - 'a']++;
			is_whole &= record[j] == record[0];
		}
		whole += is_whole;
	}
	for (int i = 0; i < WRITERS; i++)
		sleeper_end(&sleepers[i]);
	say("octets of each thread: %d %d %d %d", counts[0], counts[1],
	    counts[2], counts[3]);
	say("%d of %d small records are whole", whole, WRITERS * RECORDS);
}

static void turn_main(void *arg)
{
	int fd = *(int *)arg;
	char octet;

	for (int i = 0; i < 300; i++)
		NEED(recv(fd, &octet, 1, 0) == 1 &&
		     send(fd, &octet, 1, 0) == 1);
}

static void turns(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;
	int right = 0;

	sleeper_start(&sleeper, turn_main, &pair.server);
	for (int i = 0; i < 300; i++) {
		char out = (char)i, in = 0;

		NEED(send(pair.client, &out, 1, 0) == 1);
		right += recv(pair.client, &in, 1, 0) == 1 && in == out;
	}
	sleeper_end(&sleeper);
	say("%d turns between two threads", right);
}

struct dialler {
	struct address address;
	atomic_int right;
};

static void dialler_main(void *arg)
{
	struct dialler *dialler = arg;

	for (int i = 0; i < 20; i++) {
		int fd = dial(&dialler->address);

		send_pattern(fd, 3000, (size_t)i);
		NEED(shutdown(fd, SHUT_WR) == 0);
		dialler->right += recv_pattern_all(fd, (size_t)i) == 3000;
		close(fd);
	}
}

static void serve_main(void *arg)
{
	int fd = *(int *)arg;

	echo(fd);
	close(fd);
}

/* A server with a thread for each connection, and threads that connect. */
static void server(void)
{
	enum { DIALLERS = 4, EACH = 20 };
	int listener = listen_new(DIALLERS);
	struct dialler dialler = { .address = address_of(listener) };
	struct sleeper diallers[DIALLERS], servers[DIALLERS * EACH];
	int fds[DIALLERS * EACH];

	for (int i = 0; i < DIALLERS; i++)
		sleeper_start(&diallers[i], dialler_main, &dialler);
	for (int i = 0; i < DIALLERS * EACH; i++) {
		fds[i] = take_connection(listener);
		sleeper_start(&servers[i], serve_main, &fds[i]);
	}
	for (int i = 0; i < DIALLERS; i++)
		sleeper_end(&diallers[i]);
	for (int i = 0; i < DIALLERS * EACH; i++)
		sleeper_end(&servers[i]);
	say("%d connections were right", dialler.right);
}

static void accept_main(void *arg)
{
	int fd = accept(*(int *)arg, NULL, NULL);
	char octet;

	NEED(fd >= 0);
	NEED(recv(fd, &octet, 1, 0) == 1 && send(fd, &octet, 1, 0) == 1);
	close(fd);
}

static void many_acceptors(void)
{
	enum { COUNT = 4 };
	int listener = listen_new(COUNT), right = 0;
	struct address address = address_of(listener);
	struct sleeper sleepers[COUNT];

	for (int i = 0; i < COUNT; i++) {
		sleeper_start_asleep(&sleepers[i], accept_main, &listener);
	}
	for (int i = 0; i < COUNT; i++) {
		int fd = dial(&address);
		char octet = 0;

		send_text(fd, "x");
		right += recv(fd, &octet, 1, 0) == 1 && octet == 'x';
	}
	for (int i = 0; i < COUNT; i++)
		sleeper_end(&sleepers[i]);
	say("%d connections by as many sleeping threads", right);
}

static void cancelled(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;
	void *result = NULL;

	sleeper_start_asleep(&sleeper, sleeping_recv, &pair.server);
	NEED(pthread_cancel(sleeper.thread) == 0);
	NEED(pthread_join(sleeper.thread, &result) == 0);
	say("cancelled: %d", result == PTHREAD_CANCELED);
	send_text(pair.client, "abc");
	show_recv("the socket goes on", pair.server, 10, 0);
	send_text(pair.server, "def");
	show_recv("both ways", pair.client, 10, 0);
}

struct turns {
	int fd;
	_Atomic unsigned int cnt;
};

/* libc's calls support this type of cancellation, and programs use it. */
static void *turns_main(void *arg)
{
	struct turns *t = arg;
	char octet = 'x';

	NEED(!pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
	for (;;) {
		if (send(t->fd, &octet, 1, 0) != 1 ||
		    recv(t->fd, &octet, 1, 0) != 1)
			return NULL;
		atomic_fetch_add(&t->cnt, 1);
	}
}

static void echo_main(void *arg)
{
	int fd = *(int *)arg;
	char buf[64];
	ssize_t got;

	while ((got = recv(fd, buf, sizeof(buf), 0)) > 0)
		NEED(send(fd, buf, (size_t)got, 0) == got);
}

static void cancelled_anywhere(void)
{
	struct pair pair = pair_used();
	struct turns t = { .fd = pair.client };
	struct sleeper echo;
	int cancelled = 0;

	sleeper_start(&echo, echo_main, &pair.server);
	/* Each turn waits several times for a processor while others compete
	 * for it. */
	for (int i = 0; i < 30; i++) {
		pthread_t thread;
		void *result = NULL;
		unsigned int begin = atomic_load(&t.cnt);

		NEED(!pthread_create(&thread, NULL, turns_main, &t));
		UNTIL(atomic_load(&t.cnt) - begin >= (unsigned int)i % 7 + 1);
		NEED(!pthread_cancel(thread));
		NEED(!pthread_join(thread, &result));
		cancelled += result == PTHREAD_CANCELED;
	}
	say("cancelled in the midst of calls: %d", cancelled);
	NEED(!shutdown(pair.client, SHUT_WR));
	sleeper_end(&echo);
}

static void cancel(struct sleeper *sleeper)
{
	void *result = NULL;

	sleeper_wait(sleeper);
	NEED(pthread_cancel(sleeper->thread) == 0);
	NEED(pthread_join(sleeper->thread, &result) == 0);
	say("cancelled: %d", result == PTHREAD_CANCELED);
}

/* A cancelled call keeps no reference: the number has the last one. */
static void cancelled_end(void)
{
	void (*const runs[])(void *) = { sleeping_recv, sleeping_poll };

	for (int i = 0; i < 2; i++) {
		struct pair pair = pair_used();
		struct watched watched = { pair.server, POLLIN };
		void *const args[] = { &pair.server, &watched };
		struct sleeper sleeper;

		sleeper_start(&sleeper, runs[i], args[i]);
		cancel(&sleeper);
		close(pair.server);
		show_recv("the peer", pair.client, 10, 0);
	}
}

static void cancelled_accept(void)
{
	int listener = listen_new(1);
	struct address address = address_of(listener);
	struct sleeper sleeper;

	sleeper_start(&sleeper, accept_main, &listener);
	cancel(&sleeper);
	close(listener);
	SHOW("connect", connect(socket_new(), &address.any, address.len));
}

static void nonblocking_later(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, sleeping_recv, &pair.server);
	set_nonblocking(pair.server, true);
	sleeper_wait(&sleeper);
	say("recv sleeps on");
	send_text(pair.client, "abc");
	sleeper_end(&sleeper);
}

static void exit_child(int fd)
{
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, sleeping_recv, &fd);
	send_text(fd, "bye");
	exit(0);
}

/* exit() while another thread sleeps in the socket. */
static void exits(void)
{
	pid_t pid;
	int fd = child_dial(exit_child, &pid);

	show_recv("recv", fd, 10, 0);
	show_recv("recv", fd, 10, 0);
	child_end(pid);
}

static void made_elsewhere_main(void *arg)
{
	struct pair *pair = arg;

	*pair = pair_used();
	send_text(pair->client, "by a thread that is gone");
}

static void made_elsewhere(void)
{
	struct sleeper sleeper;
	struct pair pair;

	sleeper_start(&sleeper, made_elsewhere_main, &pair);
	sleeper_end(&sleeper);
	show_recv("recv", pair.server, 50, 0);
}

static void two_sleepers(void)
{
	struct pair pair = pair_used();
	struct sleeper first, second;

	sleeper_start_asleep(&first, sleeping_recv, &pair.server);
	sleeper_start_asleep(&second, sleeping_recv, &pair.server);
	NEED(shutdown(pair.client, SHUT_WR) == 0);
	sleeper_end(&first);
	sleeper_end(&second);
}

static void send_end_main(void *arg)
{
	static char octets[1 << 20];

	while (send(*(int *)arg, octets, sizeof(octets), MSG_NOSIGNAL) > 0)
		;
	say("the sleeping send: %s", error_name(errno));
}

static void peer_gone_send(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	fill(pair.client);
	sleeper_start_asleep(&sleeper, send_end_main, &pair.client);
	/* A reset, because octets are unread. */
	close(pair.server);
	sleeper_end(&sleeper);
}

const struct sock_case thread_cases[] = {
	{ "thread.close-recv", close_recv },
	{ "thread.close-recv-end", close_recv_end },
	{ "thread.close-recv-number", close_recv_number },
	{ "thread.close-poll", close_poll },
	{ "thread.close-poll-beside", close_poll_beside },
	{ "thread.close-epoll", close_epoll },
	{ "thread.close-send", close_send },
	{ "thread.both-directions", both_directions },
	{ "thread.many-readers", many_readers },
	{ "thread.first-readers", first_readers },
	{ "thread.many-writers", many_writers },
	{ "thread.turns", turns },
	{ "thread.server", server },
	{ "thread.many-acceptors", many_acceptors },
	{ "thread.cancelled", cancelled },
	{ "thread.cancelled-end", cancelled_end },
	{ "thread.cancelled-accept", cancelled_accept },
	{ "thread.cancelled-anywhere", cancelled_anywhere },
	{ "thread.nonblocking-later", nonblocking_later },
	{ "thread.exits", exits },
	{ "thread.made-elsewhere", made_elsewhere },
	{ "thread.two-sleepers", two_sleepers },
	{ "thread.peer-gone-send", peer_gone_send },
	{ NULL, NULL },
};
