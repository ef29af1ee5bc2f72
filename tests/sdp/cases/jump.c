/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A signal handler that does not return to the call that it interrupts. The
 * call sleeps at that time. Afterwards the sockets work and are closed as
 * usual.
 */
#include "cases.h"

#include <setjmp.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>

static sigjmp_buf back;
static pthread_t main_thread;

static void jump(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

/* Where the last octet of a large receive comes, and its value; NULL: the call
 * moves no more octets. Before that octet the main thread may be about to wake
 * up, or sleep for a lock. */
static const volatile unsigned char *last_place;
static unsigned char last_octet;

/* Interrupts the main thread when it sleeps. */
static void *interrupt_main(void *arg)
{
	(void)arg;
	UNTIL(!last_place || *last_place == last_octet);
	wait_process_asleep(getpid());
	pthread_kill(main_thread, SIGUSR1);
	return NULL;
}

static pthread_t interrupt_start(void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler };
	pthread_t thread;

	main_thread = pthread_self();
	NEED(sigaction(SIGUSR1, &action, NULL) == 0);
	NEED(pthread_create(&thread, NULL, interrupt_main, NULL) == 0);
	return thread;
}

/* @call sleeps, and the handler jumps out of it. */
static void leave(void (*call)(void *), void *arg)
{
	pthread_t thread = interrupt_start(jump);

	if (sigsetjmp(back, 1) == 0) {
		call(arg);
		say("it has returned");
	}
	NEED(pthread_join(thread, NULL) == 0);
	say("left");
}

/* Uses both directions, then closes. */
static void use_and_close(struct pair *pair)
{
	send_text(pair->client, "abc");
	show_recv("recv", pair->server, 10, 0);
	send_text(pair->server, "def");
	show_recv("recv", pair->client, 10, 0);
	close(pair->server);
	show_recv("after close of the other end, recv", pair->client, 10, 0);
}

static void recv_call(void *arg)
{
	const struct pair *pair = arg;

	show_recv("recv", pair->server, 10, 0);
}

static void in_recv(void)
{
	struct pair pair = pair_used();

	leave(recv_call, &pair);
	use_and_close(&pair);
}

/* Nothing was sent or received yet. */
static void in_first(void)
{
	struct pair pair = pair_new();

	leave(recv_call, &pair);
	use_and_close(&pair);
}

static void again_and_again(void)
{
	struct pair pair = pair_used();

	for (int i = 0; i < 20; i++)
		leave(recv_call, &pair);
	use_and_close(&pair);
}

static void poll_call(void *arg)
{
	const struct pair *pair = arg;
	struct pollfd list[2] = { { .fd = pair->server, .events = POLLIN },
				  { .fd = pair->client, .events = POLLIN } };

	SHOW("poll", poll(list, 2, -1));
}

static void in_poll(void)
{
	struct pair pair = pair_used();

	leave(poll_call, &pair);
	use_and_close(&pair);
}

static void select_call(void *arg)
{
	const struct pair *pair = arg;
	fd_set in;

	FD_ZERO(&in);
	FD_SET(pair->server, &in);
	SHOW("select", select(pair->server + 1, &in, NULL, NULL, NULL));
}

static void in_select(void)
{
	struct pair pair = pair_used();

	leave(select_call, &pair);
	use_and_close(&pair);
}

static void epoll_call(void *arg)
{
	struct epoll_event ev;

	SHOW("epoll_wait", epoll_wait(*(int *)arg, &ev, 1, -1));
}

static void in_epoll(void)
{
	struct pair pair = pair_used();
	struct epoll_event ev = { .events = EPOLLIN };
	int set = epoll_create1(0);

	NEED(set >= 0);
	NEED(epoll_ctl(set, EPOLL_CTL_ADD, pair.server, &ev) == 0);
	leave(epoll_call, &set);
	send_text(pair.client, "x");
	SHOW("epoll_wait", epoll_wait(set, &ev, 1, -1));
	show_recv("recv", pair.server, 1, 0);
	leave(epoll_call, &set);
	use_and_close(&pair);
}

static void accept_call(void *arg)
{
	SHOW("accept", accept(*(int *)arg, NULL, NULL));
}

static void in_accept(void)
{
	int listener = listen_new(1);
	struct address address = address_of(listener);
	struct pair pair;

	leave(accept_call, &listener);
	pair.client = dial(&address);
	pair.server = take_connection(listener);
	close(listener);
	SHOW("connect after close",
	     connect(socket_new(), &address.any, address.len));
	use_and_close(&pair);
}

static void splice_call(void *arg)
{
	const int *fds = arg;

	SHOW("splice", splice(fds[0], NULL, fds[1], NULL, 100, 0));
}

static void in_splice(void)
{
	struct pair pair = pair_used();
	int pipe_fds[2], fds[2];

	NEED(pipe(pipe_fds) == 0);
	fds[0] = pair.server;
	fds[1] = pipe_fds[1];
	leave(splice_call, fds);
	use_and_close(&pair);
}

struct sends {
	int fd;
	volatile size_t done;
};

/* The first ones may still go. */
static void send_call(void *arg)
{
	struct sends *sends = arg;

	while (send(sends->fd, "x", 1, MSG_NOSIGNAL) == 1)
		sends->done++;
}

static void in_send(void)
{
	struct pair pair = pair_used();
	struct sends sends = { .fd = pair.client };
	size_t count = fill(pair.client);
	char octet = 0;

	leave(send_call, &sends);
	recv_pattern(pair.server, count, 0);
	for (size_t i = 0; i < sends.done; i++)
		NEED(recv(pair.server, &octet, 1, 0) == 1 && octet == 'x');
	use_and_close(&pair);
}

#define LARGE ((size_t)64 << 20)

struct large {
	struct pair pair;
	unsigned char *octets;
	size_t size;
	atomic_bool goes_on;
};

static unsigned char *large_map(void)
{
	unsigned char *octets = mmap(NULL, LARGE, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(octets != MAP_FAILED);
	return octets;
}

static void send_large_call(void *arg)
{
	const struct large *large = arg;

	SHOW("send", send(large->pair.client, large->octets, LARGE, 0));
}

/* The memory is unmapped. Data that the kernel has is kept. */
static void in_large_send(void)
{
	struct large large = { .pair = pair_used(), .octets = large_map() };

	pattern_make(large.octets, LARGE, 0);
	leave(send_large_call, &large);
	NEED(munmap(large.octets, LARGE) == 0);
	close(large.pair.client);
	say("less than all came: %d",
	    recv_pattern_all(large.pair.server, 0) < LARGE);
}

static void recv_large_call(void *arg)
{
	const struct large *large = arg;

	SHOW("recv",
	     recv(large->pair.server, large->octets, LARGE, MSG_WAITALL));
}

#define FIRST_PART ((size_t)1 << 20)

static void send_parts(void *arg)
{
	struct large *large = arg;

	send_pattern(large->pair.client, FIRST_PART, 0);
	UNTIL(large->goes_on);
	send_pattern(large->pair.client, 4 << 20, 0);
	close(large->pair.client);
}

/* Data that arrives later is not written to the memory of the abandoned
 * call. */
static void in_large_recv(void)
{
	struct large large = { .pair = pair_used(), .octets = large_map() };
	struct sleeper sender;
	char octets[4096];
	bool is_as_left = true;
	ssize_t got;

	pattern_make(&last_octet, 1, FIRST_PART - 1);
	NEED(last_octet != 0);
	last_place = large.octets + FIRST_PART - 1;
	sleeper_start(&sender, send_parts, &large);
	leave(recv_large_call, &large);
	memset(large.octets, 0x55, LARGE);
	large.goes_on = true;
	do {
		got = recv(large.pair.server, octets, sizeof(octets), 0);
	} while (got > 0);
	say("then the end: %zd", got);
	for (size_t i = 0; i < LARGE; i++)
		is_as_left &= large.octets[i] == 0x55;
	say("the memory is as it was left: %d", is_as_left);
	sleeper_end(&sender);
}

static void send_late(int fd)
{
	char octet;

	NEED(recv(fd, &octet, 1, 0) == 1);
	send_text(fd, "later");
	NEED(recv(fd, &octet, 1, 0) == 0);
}

static void other_main(void *arg)
{
	show_recv("the other thread's recv", *(int *)arg, 10, 0);
}

/* The thread that jumped makes no further call, and another still sleeps. */
static void beside_others(void)
{
	struct sleeper other;
	pid_t pid;
	int fd = child_dial(send_late, &pid);
	struct pair pair = pair_used();

	leave(recv_call, &pair);
	send_text(fd, "x");
	sleeper_start(&other, other_main, &fd);
	sleeper_end(&other);
	close(fd);
	child_end(pid);
	use_and_close(&pair);
}

/* Two threads sleep before one of them jumps. */
static void before_others(void)
{
	struct sleeper other;
	pid_t pid;
	int fd = child_dial(send_late, &pid);
	struct pair pair = pair_used();

	sleeper_start_asleep(&other, other_main, &fd);
	leave(recv_call, &pair);
	send_text(fd, "x");
	sleeper_end(&other);
	close(fd);
	child_end(pid);
	use_and_close(&pair);
}

/* A jump inside the handler does not leave the call. */
static void jump_inside(int number)
{
	sigjmp_buf here;

	(void)number;
	if (sigsetjmp(here, 0) == 0)
		siglongjmp(here, 1);
}

static void inside_handler(void)
{
	struct pair pair = pair_used();
	pthread_t thread = interrupt_start(jump_inside);

	show_recv("recv", pair.server, 10, 0);
	NEED(pthread_join(thread, NULL) == 0);
	use_and_close(&pair);
}

static struct pair handler_pair;

/* The next signal's handler jumps out of the handler's own call. */
static void recv_in_handler(int number)
{
	(void)number;
	leave(recv_call, &handler_pair);
}

static void handlers_call(void)
{
	struct pair pair = pair_used();
	struct sigaction action = { .sa_handler = recv_in_handler,
				    .sa_flags = SA_NODEFER };
	pthread_t thread;

	handler_pair = pair_used();
	main_thread = pthread_self();
	NEED(sigaction(SIGUSR1, &action, NULL) == 0);
	NEED(pthread_create(&thread, NULL, interrupt_main, NULL) == 0);
	show_recv("the interrupted recv", pair.server, 10, 0);
	NEED(pthread_join(thread, NULL) == 0);
	use_and_close(&handler_pair);
	use_and_close(&pair);
}

static int asked_fd;

static void answer_slowly(int fd)
{
	char octet;

	while (recv(fd, &octet, 1, 0) == 1) {
		wait_process_asleep(getppid());
		send_text(fd, "answer");
	}
}

/* The handler sleeps too, and returns. */
static void ask_in_handler(int number)
{
	struct pollfd look = { .fd = asked_fd, .events = POLLIN };
	int error = errno;

	(void)number;
	send_text(asked_fd, "?");
	show_recv("recv in the handler", asked_fd, 10, 0);
	send_text(asked_fd, "?");
	SHOW("poll in the handler", poll(&look, 1, -1));
	show_recv("recv in the handler", asked_fd, 10, 0);
	errno = error;
}

static void handler_sleeps(void (*call)(void *))
{
	struct pair pair = pair_used();
	pthread_t thread = interrupt_start(ask_in_handler);

	call(&pair);
	NEED(pthread_join(thread, NULL) == 0);
	use_and_close(&pair);
}

static void sleep_in_handler(void)
{
	pid_t pid;

	asked_fd = child_dial(answer_slowly, &pid);
	handler_sleeps(recv_call);
	handler_sleeps(poll_call);
	close(asked_fd);
	child_end(pid);
}

static void end_thread(int number)
{
	(void)number;
	pthread_exit(NULL);
}

static void recv_main(void *arg)
{
	recv_call(arg);
}

static void by_end_of_thread(void)
{
	struct sigaction action = { .sa_handler = end_thread };
	struct pair pair = pair_used();
	struct sleeper sleeper;

	NEED(sigaction(SIGUSR1, &action, NULL) == 0);
	sleeper_start_asleep(&sleeper, recv_main, &pair);
	pthread_kill(sleeper.thread, SIGUSR1);
	sleeper_end(&sleeper);
	use_and_close(&pair);
}

static void close_call(void *arg)
{
	SHOW("close", close(*(int *)arg));
}

static void in_close(void)
{
	struct linger minute = { .l_onoff = 1, .l_linger = 60 };
	struct pair pair = pair_used();
	size_t count = fill(pair.client);

	NEED(setsockopt(pair.client, SOL_SOCKET, SO_LINGER, &minute,
			sizeof(minute)) == 0);
	leave(close_call, &pair.client);
	recv_pattern(pair.server, count, 0);
	show_recv("at the end, recv", pair.server, 10, 0);
}

const struct sock_case jump_cases[] = {
	{ "jump.in-recv", in_recv },
	{ "jump.in-first", in_first },
	{ "jump.again-and-again", again_and_again },
	{ "jump.in-poll", in_poll },
	{ "jump.in-select", in_select },
	{ "jump.in-epoll", in_epoll },
	{ "jump.in-accept", in_accept },
	{ "jump.in-splice", in_splice },
	{ "jump.in-send", in_send },
	{ "jump.in-large-send", in_large_send },
	{ "jump.in-large-recv", in_large_recv },
	{ "jump.beside-others", beside_others },
	{ "jump.before-others", before_others },
	{ "jump.inside-handler", inside_handler },
	{ "jump.handlers-call", handlers_call },
	{ "jump.sleep-in-handler", sleep_in_handler },
	{ "jump.by-end-of-thread", by_end_of_thread },
	{ "jump.in-close", in_close },
	{ NULL, NULL },
};
