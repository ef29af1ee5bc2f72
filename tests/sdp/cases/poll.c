/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* poll() and ppoll(): the events in each state of a socket, and waiting. */
#include "cases.h"

#define ALL (POLLIN | POLLOUT | POLLRDHUP | POLLPRI)

static void fresh(void)
{
	show_poll("fresh", socket_new(), ALL);
	show_poll("bound", bound_new(), ALL);
	show_poll("listening", listen_new(1), ALL);
}

static void connected(void)
{
	struct pair pair = pair_new();

	show_poll("client", pair.client, ALL);
	show_poll("server", pair.server, ALL);
	send_text(pair.client, "abc");
	wait_poll(pair.server, POLLIN);
	show_poll("server with data", pair.server, ALL);
	show_recv("some read", pair.server, 1, 0);
	show_poll("server with data left", pair.server, ALL);
	show_recv("all read", pair.server, 10, 0);
	show_poll("server without data", pair.server, ALL);
}

static void selective(void)
{
	struct pair pair = pair_new();

	send_text(pair.client, "abc");
	wait_poll(pair.server, POLLIN);
	show_poll("IN", pair.server, POLLIN);
	show_poll("OUT", pair.server, POLLOUT);
	show_poll("RDNORM", pair.server, POLLRDNORM);
	show_poll("WRNORM", pair.server, POLLWRNORM);
	show_poll("RDBAND", pair.server, POLLRDBAND);
	show_poll("WRBAND", pair.server, POLLWRBAND);
	show_poll("PRI", pair.server, POLLPRI);
	show_poll("nothing", pair.server, 0);
}

static void only_ends(void)
{
	struct pair pair = pair_used();
	int fd = reset_new();

	close(pair.client);
	wait_poll(pair.server, POLLRDHUP);
	show_poll("end of stream, events 0", pair.server, 0);
	show_poll("reset, events 0", fd, 0);
	show_poll("fresh, events 0", socket_new(), 0);
	show_poll("reset, events IN", fd, POLLIN);
}

static void not_open(void)
{
	struct pair pair = pair_used();
	struct pollfd list[3] = { { .fd = -1, .events = ALL },
				  { .fd = pair.client, .events = ALL },
				  { .fd = 499, .events = ALL } };

	SHOW("poll", poll(list, 3, -1));
	say("-1: %s", events_name((unsigned)list[0].revents));
	say("a socket: %s", events_name((unsigned)list[1].revents));
	say("a number that is not open: %s",
	    events_name((unsigned)list[2].revents));
	list[0].revents = 7;
	SHOW("poll of -1 alone", poll(list, 1, 0));
	say("-1: %s", events_name((unsigned)list[0].revents));
}

static void same_twice(void)
{
	struct pair pair = pair_used();
	struct pollfd list[2] = { { .fd = pair.client, .events = POLLIN },
				  { .fd = pair.client, .events = POLLOUT } };

	SHOW("poll", poll(list, 2, -1));
	send_text(pair.server, "x");
	wait_poll(pair.client, POLLIN);
	SHOW("poll", poll(list, 2, -1));
	say("%s, %s", events_name((unsigned)list[0].revents),
	    events_name((unsigned)list[1].revents));
}

static void timeouts(void)
{
	struct pair pair = pair_used();
	struct pollfd look = { .fd = pair.client, .events = POLLIN };
	struct timespec limit = { .tv_nsec = 10000000 };

	SHOW("poll, 0 ms", poll(&look, 1, 0));
	SHOW("poll, 10 ms", poll(&look, 1, 10));
	SHOW("ppoll, 10 ms", ppoll(&look, 1, &limit, NULL));
	say("%s", events_name((unsigned)look.revents));
	limit.tv_nsec = 1000000000;
	SHOW("ppoll, bad time", ppoll(&look, 1, &limit, NULL));
	SHOW("poll of nothing", poll(NULL, 0, 5));
}

static void wakes_data(void)
{
	struct pair pair = pair_used();
	struct watched watched = { pair.server, POLLIN };
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, sleeping_poll, &watched);
	send_text(pair.client, "abc");
	sleeper_end(&sleeper);
	show_recv("recv after it", pair.server, 10, 0);
}

static void wakes_end(void)
{
	struct pair pair = pair_used();
	struct watched watched = { pair.server, POLLIN | POLLRDHUP };
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, sleeping_poll, &watched);
	close(pair.client);
	sleeper_end(&sleeper);
}

static void poll_space_main(void *arg)
{
	struct pollfd look = { .fd = *(int *)arg, .events = POLLOUT };

	NEED(poll(&look, 1, -1) == 1 && look.revents == POLLOUT);
}

static void wakes_space(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;
	size_t count = 0;

	/* A full socket may have space again when the stack's timers have
	 * merged its data. Then poll() has not slept. */
	do {
		fill_more(pair.client, &count);
		sleeper_start(&sleeper, poll_space_main, &pair.client);
	} while (!sleeper_sleeps(&sleeper));
	say("poll sleeps");
	recv_pattern(pair.server, count, 0);
	sleeper_end(&sleeper);
	say("and wakes");
	show_send("send after it", pair.client, "abc", MSG_DONTWAIT);
}

static void wakes_connection(void)
{
	int listener = listen_new(1);
	struct address address = address_of(listener);
	struct watched watched = { listener, POLLIN };
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, sleeping_poll, &watched);
	dial(&address);
	sleeper_end(&sleeper);
	take_connection(listener);
}

static void wakes_first_data(void)
{
	int listener = listen_new(1), client;
	struct address address = address_of(listener);
	struct watched watched = { .events = POLLIN };
	struct sleeper sleeper;

	client = dial(&address);
	watched.fd = take_connection(listener);
	sleeper_start_asleep(&sleeper, sleeping_poll, &watched);
	send_text(client, "abc");
	sleeper_end(&sleeper);
	show_recv("recv after it", watched.fd, 10, 0);
}

static void unused_pair(void)
{
	struct pair pair = pair_new();
	struct watched watched = { pair.client, POLLIN };
	struct sleeper sleeper;

	sleeper_start_asleep(&sleeper, sleeping_poll, &watched);
	send_text(pair.server, "abc");
	sleeper_end(&sleeper);
	show_recv("the client", pair.client, 10, 0);
}

static void interrupted(void)
{
	struct pair pair = pair_used();
	struct watched watched = { pair.client, POLLIN };
	struct sleeper sleeper;

	catch_signal(SIGUSR1, SA_RESTART);
	sleeper_start_asleep(&sleeper, sleeping_poll, &watched);
	pthread_kill(sleeper.thread, SIGUSR1);
	sleeper_end(&sleeper);
}

static void many(void)
{
	enum { COUNT = 64 };
	int listener = listen_new(COUNT), ready = 0;
	struct address address = address_of(listener);
	struct pollfd list[COUNT];
	int clients[COUNT];

	for (int i = 0; i < COUNT; i++) {
		clients[i] = dial(&address);
		list[i].fd = take_connection(listener);
		list[i].events = POLLIN;
	}
	SHOW("none has data", poll(list, COUNT, 0));
	for (int i = 0; i < COUNT; i += 7) {
		send_text(clients[i], "x");
		wait_poll(list[i].fd, POLLIN);
	}
	SHOW("some have data", poll(list, COUNT, -1));
	for (int i = 0; i < COUNT; i++)
		ready += (list[i].revents == POLLIN) == (i % 7 == 0);
	say("%d of %d are right", ready, COUNT);
}

static void mixed(void)
{
	struct pair pair = pair_used();
	struct pollfd list[4];
	int pipes[2];

	NEED(pipe(pipes) == 0);
	list[0] = (struct pollfd){ .fd = pipes[0], .events = POLLIN };
	list[1] = (struct pollfd){ .fd = pair.client, .events = POLLIN };
	list[2] = (struct pollfd){ .fd = pair.server, .events = POLLIN };
	list[3] = (struct pollfd){ .fd = listen_new(1), .events = POLLIN };
	SHOW("nothing", poll(list, 4, 0));
	NEED(write(pipes[1], "x", 1) == 1);
	SHOW("the pipe", poll(list, 4, -1));
	send_text(pair.client, "x");
	wait_poll(pair.server, POLLIN);
	SHOW("and a socket", poll(list, 4, -1));
	for (int i = 0; i < 4; i++)
		say("%d: %s", i, events_name((unsigned)list[i].revents));
}

static void low_water(void)
{
	struct pair pair = pair_used();

	set_int(pair.server, SOL_SOCKET, SO_RCVLOWAT, 10);
	send_text(pair.client, "01234");
	wait_octets(pair.server, 5);
	show_poll("5 octets, 10 wanted", pair.server, POLLIN);
	send_text(pair.client, "56789");
	wait_octets(pair.server, 10);
	show_poll("10 octets", pair.server, POLLIN);
	show_recv("recv", pair.server, 3, 0);
	show_poll("7 octets", pair.server, POLLIN);
	close(pair.client);
	wait_poll(pair.server, POLLRDHUP);
	show_poll("7 octets and the end", pair.server, POLLIN);
}

static void recv_low_main(void *arg)
{
	show_recv("recv with SO_RCVLOWAT 10", *(int *)arg, 50, 0);
}

static void low_water_recv(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	set_int(pair.server, SOL_SOCKET, SO_RCVLOWAT, 10);
	send_text(pair.client, "01234");
	wait_octets(pair.server, 5);
	show_recv("without waiting", pair.server, 2, MSG_DONTWAIT);
	sleeper_start_asleep(&sleeper, recv_low_main, &pair.server);
	send_text(pair.client, "56789abcdef");
	sleeper_end(&sleeper);
}

/* With a pending signal, ready descriptors take precedence. */
static void pending_signal(void)
{
	struct pair pair = pair_used();
	struct pollfd look = { .fd = pair.client, .events = POLLIN };
	sigset_t usr1, none;

	sigemptyset(&none);
	usr1 = block_usr1();
	raise(SIGUSR1);
	SHOW("ppoll, mask kept",
	     ppoll(&look, 1, &(struct timespec){ 0 }, &usr1));
	say("%d signals", caught[SIGUSR1]);
	SHOW("ppoll, mask open", ppoll(&look, 1, NULL, &none));
	say("%d signals", caught[SIGUSR1]);
	send_text(pair.server, "x");
	wait_poll(pair.client, POLLIN);
	raise(SIGUSR1);
	SHOW("ppoll, ready", ppoll(&look, 1, NULL, &none));
	say("%s", events_name((unsigned)look.revents));
	SHOW("ppoll, ready, again", ppoll(&look, 1, NULL, &none));
}

static void after_local_end(void)
{
	struct pair pair = pair_used();

	NEED(shutdown(pair.client, SHUT_RD) == 0);
	show_poll("our reading side ended", pair.client, ALL);
	NEED(shutdown(pair.client, SHUT_WR) == 0);
	show_poll("both sides ended", pair.client, ALL);
}

static void then_read_blocks_not(void)
{
	struct pair pair = pair_new();
	struct pollfd look = { .fd = pair.server, .events = POLLIN };
	int right = 0;

	for (int i = 0; i < 500; i++) {
		char octet;

		send_text(pair.client, "x");
		NEED(poll(&look, 1, -1) == 1);
		right += recv(pair.server, &octet, 1, 0) == 1;
		right += poll(&look, 1, 0) == 0;
	}
	say("%d of 1000 looks were right", right);
}

const struct sock_case poll_cases[] = {
	{ "poll.fresh", fresh },
	{ "poll.connected", connected },
	{ "poll.selective", selective },
	{ "poll.only-ends", only_ends },
	{ "poll.not-open", not_open },
	{ "poll.same-twice", same_twice },
	{ "poll.timeouts", timeouts },
	{ "poll.wakes-data", wakes_data },
	{ "poll.wakes-end", wakes_end },
	{ "poll.wakes-space", wakes_space },
	{ "poll.wakes-connection", wakes_connection },
	{ "poll.wakes-first-data", wakes_first_data },
	{ "poll.unused-pair", unused_pair },
	{ "poll.interrupted", interrupted },
	{ "poll.many", many },
	{ "poll.mixed", mixed },
	{ "poll.low-water", low_water },
	{ "poll.low-water-recv", low_water_recv },
	{ "poll.pending-signal", pending_signal },
	{ "poll.after-local-end", after_local_end },
	{ "poll.then-read-blocks-not", then_read_blocks_not },
	{ NULL, NULL },
};
