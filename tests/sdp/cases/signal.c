/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Signals during a call. */
#include "cases.h"

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/time.h>

static void recv_all_main(void *arg)
{
	show_recv("the recv of 10 with MSG_WAITALL", *(int *)arg, 10,
		  MSG_WAITALL);
}

/* A thread sleeps in @call and a signal arrives. Then it sleeps again, or
 * returns. */
static void signalled(struct sleeper *sleeper, void (*call)(void *), int *fd,
		      int flags, bool sleeps_again)
{
	catch_signal(SIGUSR1, flags);
	sleeper_start(sleeper, call, fd);
	sleeper_wait(sleeper);
	pthread_kill(sleeper->thread, SIGUSR1);
	UNTIL(caught[SIGUSR1] > 0);
	if (sleeps_again)
		sleeper_wait(sleeper);
}

static void recv_interrupted(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	signalled(&sleeper, sleeping_recv, &pair.server, 0, false);
	sleeper_end(&sleeper);
	say("%d signals", caught[SIGUSR1]);
	send_text(pair.client, "later");
	show_recv("the next recv", pair.server, 10, 0);
}

static void recv_restarted(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	signalled(&sleeper, sleeping_recv, &pair.server, SA_RESTART, true);
	send_text(pair.client, "later");
	sleeper_end(&sleeper);
	say("%d signals", caught[SIGUSR1]);
}

static void recv_first(void)
{
	struct pair pair = pair_new();
	struct sleeper sleeper;

	signalled(&sleeper, sleeping_recv, &pair.server, 0, false);
	sleeper_end(&sleeper);
	send_text(pair.client, "first");
	show_recv("the next recv", pair.server, 10, 0);
}

static void limit_not_restarted(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	set_timeout(pair.server, SO_RCVTIMEO, 60000);
	signalled(&sleeper, sleeping_recv, &pair.server, SA_RESTART, false);
	sleeper_end(&sleeper);
}

static void partial(int flags)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	send_text(pair.client, "abc");
	wait_octets(pair.server, 3);
	signalled(&sleeper, recv_all_main, &pair.server, flags, false);
	sleeper_end(&sleeper);
	send_text(pair.client, "def");
	show_recv("the next recv", pair.server, 10, 0);
}

static void partial_interrupted(void)
{
	partial(0);
}

static void partial_restart(void)
{
	partial(SA_RESTART);
}

static void wait_all_nothing(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	signalled(&sleeper, recv_all_main, &pair.server, SA_RESTART, true);
	send_text(pair.client, "0123456789");
	sleeper_end(&sleeper);
}

static void read_main(void *arg)
{
	char text[10];

	SHOW("the sleeping read", read(*(int *)arg, text, sizeof(text)));
}

static void read_interrupted(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	signalled(&sleeper, read_main, &pair.server, 0, false);
	sleeper_end(&sleeper);
}

static void message_main(void *arg)
{
	char text[10];
	struct iovec in = { text, sizeof(text) };
	struct msghdr message = { .msg_iov = &in, .msg_iovlen = 1 };

	SHOW("the sleeping recvmsg", recvmsg(*(int *)arg, &message, 0));
}

static void message_interrupted(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	signalled(&sleeper, message_main, &pair.server, 0, false);
	sleeper_end(&sleeper);
}

/* The first ones may still go. */
static void send_one_main(void *arg)
{
	while (send(*(int *)arg, "x", 1, MSG_NOSIGNAL) == 1)
		;
	say("the sleeping send: %s", error_name(errno));
}

/* Nothing of it was sent, because there was no space. */
static void send_interrupted(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	fill(pair.client);
	signalled(&sleeper, send_one_main, &pair.client, 0, false);
	sleeper_end(&sleeper);
}

static void send_large_main(void *arg)
{
	const size_t size = 64 << 20;
	char *octets = calloc(1, size);
	ssize_t sent;

	NEED(octets);
	sent = send(*(int *)arg, octets, size, 0);
	say("the sleeping send of 64 megabytes went in part: %d",
	    sent > 0 && (size_t)sent < size);
	free(octets);
}

static void send_partial(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	signalled(&sleeper, send_large_main, &pair.client, 0, false);
	sleeper_end(&sleeper);
}

static void send_partial_restart(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	signalled(&sleeper, send_large_main, &pair.client, SA_RESTART, false);
	sleeper_end(&sleeper);
}

static void by_timer(void)
{
	/* Repeated, because the first may arrive before recv() sleeps. */
	struct itimerval often = { .it_value.tv_usec = 20000,
				   .it_interval.tv_usec = 20000 };
	struct pair pair = pair_used();

	catch_signal(SIGALRM, 0);
	NEED(setitimer(ITIMER_REAL, &often, NULL) == 0);
	show_recv("recv", pair.server, 10, 0);
}

static void ignored(void)
{
	struct pair pair = pair_used();
	struct sleeper sleeper;

	signal(SIGUSR2, SIG_IGN);
	sleeper_start_asleep(&sleeper, sleeping_recv, &pair.server);
	pthread_kill(sleeper.thread, SIGUSR2);
	sleeper_wait(&sleeper);
	send_text(pair.client, "data");
	sleeper_end(&sleeper);
}

/* A signal that all threads of the program block stays pending: no thread of a
 * library may take it. */
static void blocked(void)
{
	struct pair pair;
	sigset_t usr1, pending;
	int taken = 0;

	usr1 = block_usr1();
	pair = pair_used();
	kill(getpid(), SIGUSR1);
	send_text(pair.client, "x");
	show_recv("recv", pair.server, 10, 0);
	NEED(sigpending(&pending) == 0);
	say("pending: %d, caught: %d", sigismember(&pending, SIGUSR1),
	    caught[SIGUSR1]);
	NEED(sigwait(&usr1, &taken) == 0);
	say("sigwait takes it: %d", taken == SIGUSR1);
}

/* Blocked in the program, also after the connection was made. */
static void blocked_later(void)
{
	struct pair pair = pair_used();
	sigset_t pending;

	block_usr1();
	kill(getpid(), SIGUSR1);
	send_text(pair.client, "x");
	show_recv("recv", pair.server, 10, 0);
	NEED(sigpending(&pending) == 0);
	say("pending: %d, caught: %d", sigismember(&pending, SIGUSR1),
	    caught[SIGUSR1]);
}

static pthread_t main_thread;
static atomic_int in_main;

static void note_thread(int number)
{
	(void)number;
	in_main += pthread_equal(pthread_self(), main_thread) ? 1 : 100;
}

static void on_main_thread(void)
{
	struct sigaction action = { .sa_handler = note_thread };
	struct pair pair = pair_used();
	int right = 0;
	char octet;

	main_thread = pthread_self();
	NEED(sigaction(SIGUSR1, &action, NULL) == 0);
	for (int i = 0; i < 20; i++) {
		kill(getpid(), SIGUSR1);
		send_text(pair.client, "x");
		right += recv(pair.server, &octet, 1, 0) == 1;
	}
	say("%d octets; %d signals in the program's own thread", right,
	    in_main);
}

static void by_descriptor(void)
{
	struct pair pair = pair_used();
	struct signalfd_siginfo info;
	struct pollfd list[2];
	sigset_t usr1;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	NEED(sigprocmask(SIG_BLOCK, &usr1, NULL) == 0);
	list[0].fd = signalfd(-1, &usr1, SFD_CLOEXEC);
	list[1].fd = pair.server;
	list[0].events = list[1].events = POLLIN;
	kill(getpid(), SIGUSR1);
	SHOW("poll", poll(list, 2, -1));
	say("signalfd %s, socket %s", events_name((unsigned)list[0].revents),
	    events_name((unsigned)list[1].revents));
	NEED(read(list[0].fd, &info, sizeof(info)) == sizeof(info));
	say("SIGUSR1: %d", info.ssi_signo == SIGUSR1);
}

/* The handler uses a socket of the same kind. */
static struct pair handler_pair;

static void send_in_handler(int number)
{
	int error = errno;

	(void)number;
	if (send(handler_pair.client, "from a handler", 14, 0) != 14)
		_exit(9);
	errno = error;
}

static void sends_in_handler(void)
{
	struct sigaction action = { .sa_handler = send_in_handler,
				    .sa_flags = SA_RESTART };
	struct itimerval soon = { .it_value.tv_usec = 20000 };

	handler_pair = pair_used();
	NEED(sigaction(SIGALRM, &action, NULL) == 0);
	NEED(setitimer(ITIMER_REAL, &soon, NULL) == 0);
	show_recv("recv", handler_pair.server, 20, 0);
}

/* The handler's call comes at any instruction of the program's. */
static volatile int handler_trips;

static void trip_in_handler(int number)
{
	int error = errno;
	char octet;

	(void)number;
	if (send(handler_pair.client, "h", 1, 0) != 1 ||
	    recv(handler_pair.server, &octet, 1, 0) != 1)
		_exit(9);
	handler_trips++;
	errno = error;
}

static void trips_in_handler(void)
{
	struct sigaction action = { .sa_handler = trip_in_handler,
				    .sa_flags = SA_RESTART };
	struct itimerval often = { .it_value.tv_usec = 500,
				   .it_interval.tv_usec = 500 };
	struct pair pair = pair_used();
	int right = 0, cnt = 0;
	char octets[3];

	handler_pair = pair_used();
	NEED(sigaction(SIGALRM, &action, NULL) == 0);
	NEED(setitimer(ITIMER_REAL, &often, NULL) == 0);
	while (handler_trips < 300) {
		cnt++;
		right += send(pair.client, "abc", 3, 0) == 3 &&
			 recv(pair.server, octets, 3, MSG_WAITALL) == 3;
	}
	often = (struct itimerval){ { 0, 0 }, { 0, 0 } };
	NEED(setitimer(ITIMER_REAL, &often, NULL) == 0);
	say("300 trips in a handler amid others: %d", cnt > 0 && right == cnt);
}

/* Nonblocking calls. No signal interrupts them. */
static void at_once(void)
{
	struct itimerval often = { .it_value.tv_usec = 20,
				   .it_interval.tv_usec = 20 };
	int listener = listen_new(4), set = epoll_create1(0), cut = 0;
	struct address address = address_of(listener);
	struct epoll_event event;
	char octet;

	set_nonblocking(listener, true);
	catch_signal(SIGALRM, 0);
	NEED(setitimer(ITIMER_REAL, &often, NULL) == 0);
	for (int i = 0; i < 250; i++) {
		int fd = socket_new(), peer;

		set_nonblocking(fd, true);
		cut += connect(fd, &address.any, address.len) < 0 &&
		       errno == EINTR;
		cut += recv(fd, &octet, 1, 0) < 0 && errno == EINTR;
		cut += send(fd, "x", 1, 0) < 0 && errno == EINTR;
		cut += epoll_wait(set, &event, 1, 0) < 0 && errno == EINTR;
		peer = accept(listener, NULL, NULL);
		cut += peer < 0 && errno == EINTR;
		close(peer);
		close(fd);
	}
	often = (struct itimerval){ { 0, 0 }, { 0, 0 } };
	NEED(setitimer(ITIMER_REAL, &often, NULL) == 0);
	say("of 1250 calls that do not wait, %d were interrupted", cut);
}

/* An interrupted connect() goes on, and poll() tells of its end. */
static void connects(void)
{
	struct itimerval often = { .it_value.tv_usec = 20,
				   .it_interval.tv_usec = 20 };
	int listener = listen_new(4), right = 0;
	struct address address = address_of(listener), peer_of = address;

	catch_signal(SIGALRM, 0);
	NEED(setitimer(ITIMER_REAL, &often, NULL) == 0);
	for (int i = 0; i < 250; i++) {
		int fd = socket_new(),
		    ret = connect(fd, &address.any, address.len), peer;
		struct pollfd done = { .fd = fd, .events = POLLOUT };

		while (ret < 0 && poll(&done, 1, -1) < 0)
			NEED(errno == EINTR);
		right += getpeername(fd, &peer_of.any, &peer_of.len) == 0;
		while ((peer = accept(listener, NULL, NULL)) < 0)
			NEED(errno == EINTR);
		close(peer);
		close(fd);
	}
	often = (struct itimerval){ { 0, 0 }, { 0, 0 } };
	NEED(setitimer(ITIMER_REAL, &often, NULL) == 0);
	say("%d of 250 connections amid signals", right);
}

static void many_child(int fd)
{
	send_pattern(fd, 4 << 20, 0);
}

static void many(void)
{
	struct itimerval often = { .it_value.tv_usec = 2000,
				   .it_interval.tv_usec = 2000 };
	pid_t pid;
	int fd = child_dial(many_child, &pid);

	catch_signal(SIGALRM, SA_RESTART);
	NEED(setitimer(ITIMER_REAL, &often, NULL) == 0);
	recv_pattern(fd, 4 << 20, 0);
	often = (struct itimerval){ { 0, 0 }, { 0, 0 } };
	NEED(setitimer(ITIMER_REAL, &often, NULL) == 0);
	show_recv("4 megabytes amid signals, then", fd, 10, 0);
	child_end(pid);
}

const struct sock_case signal_cases[] = {
	{ "signal.recv-interrupted", recv_interrupted },
	{ "signal.recv-restarted", recv_restarted },
	{ "signal.recv-first", recv_first },
	{ "signal.limit-not-restarted", limit_not_restarted },
	{ "signal.partial-interrupted", partial_interrupted },
	{ "signal.partial-restart", partial_restart },
	{ "signal.wait-all-nothing", wait_all_nothing },
	{ "signal.read-interrupted", read_interrupted },
	{ "signal.message-interrupted", message_interrupted },
	{ "signal.send-interrupted", send_interrupted },
	{ "signal.send-partial", send_partial },
	{ "signal.send-partial-restart", send_partial_restart },
	{ "signal.by-timer", by_timer },
	{ "signal.ignored", ignored },
	{ "signal.blocked", blocked },
	{ "signal.blocked-later", blocked_later },
	{ "signal.on-main-thread", on_main_thread },
	{ "signal.by-descriptor", by_descriptor },
	{ "signal.sends-in-handler", sends_in_handler },
	{ "signal.trips-in-handler", trips_in_handler },
	{ "signal.at-once", at_once },
	{ "signal.connects", connects },
	{ "signal.many", many },
	{ NULL, NULL },
};
