/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* close(), dup() and the end of a process: what the peer sees. */
#include "cases.h"

#include <linux/close_range.h>
#include <sys/syscall.h>

static void end_of_stream(void)
{
	struct pair pair = pair_used();

	SHOW("close", close(pair.client));
	wait_poll(pair.server, POLLRDHUP);
	show_poll("poll", pair.server, POLLIN | POLLOUT | POLLRDHUP);
	show_recv("recv", pair.server, 10, 0);
	show_recv("recv again", pair.server, 10, 0);
	show_so_error("SO_ERROR", pair.server);
}

static void unused(void)
{
	struct pair pair = pair_new();

	close(pair.client);
	show_recv("no octet ever went; recv", pair.server, 10, 0);
	close(pair.server);
	pair = pair_new();
	close(pair.server);
	show_recv("the other way; recv", pair.client, 10, 0);
}

static void data_then_end(void)
{
	struct pair pair = pair_new();

	send_text(pair.client, "last words");
	close(pair.client);
	show_recv("recv", pair.server, 4, 0);
	show_recv("recv", pair.server, 99, 0);
	show_recv("recv", pair.server, 99, 0);
}

static void large_then_end_child(int fd)
{
	send_pattern(fd, 1 << 20, 0);
}

static void large_then_end(void)
{
	pid_t pid;
	int fd = child_dial(large_then_end_child, &pid);

	say("%zu octets came", recv_pattern_all(fd, 0));
	child_end(pid);
}

/* The moments after the last octet at which the processes below end. */
#define MOMENTS 24

#define MOMENT_SEND_LEN (2 << 20)
#define MOMENT_PART_LEN (64 << 10)

static char *moment_octets;
static int moment;

static void ends_soon_child(int fd)
{
	NEED(send(fd, moment_octets, MOMENT_SEND_LEN, 0) == MOMENT_SEND_LEN);
	for (int i = 0; i < moment; i++)
		nap();
	if (moment % 2) /* without close() */
		exit(0);
}

/* By libc, or by a system call of its own. */
static void exec_nothing(bool is_raw)
{
	static char *words[] = { "true", NULL };

	if (is_raw)
		syscall(SYS_execve, "/bin/true", words, environ);
	else
		execvp(words[0], words);
	NEED(!"exec");
}

static void execs_soon_child(int fd)
{
	/* So much at a time stays in the library. */
	for (int i = 0; i < MOMENT_SEND_LEN; i += MOMENT_PART_LEN)
		NEED(send(fd, moment_octets + i, MOMENT_PART_LEN, 0) ==
		     MOMENT_PART_LEN);
	for (int i = 0; i < moment; i++)
		nap();
	close(fd);
	exec_nothing(moment % 2);
}

/* Whatever the library does with the connection at that moment. Each end sends
 * in turn, and each goes in both ways. */
static void goes_soon(void (*run)(int fd))
{
	int right = 0;

	moment_octets = malloc(MOMENT_SEND_LEN);
	NEED(moment_octets);
	pattern_make(moment_octets, MOMENT_SEND_LEN, 0);
	for (moment = 0; moment < MOMENTS; moment++) {
		pid_t pid;
		int fd =
			(moment / 2 % 2 ? child_accept : child_dial)(run, &pid);

		right += recv_pattern_all(fd, 0) == MOMENT_SEND_LEN;
		close(fd);
		child_end(pid);
	}
	free(moment_octets);
	say("%d of %d times all came, then the end", right, MOMENTS);
}

static void ends_soon(void)
{
	goes_soon(ends_soon_child);
}

static void execs_soon(void)
{
	goes_soon(execs_soon_child);
}

static int execs_full_pipe[2];

static void execs_full_child(int fd)
{
	size_t count;
	char octet;

	NEED(recv(fd, &octet, 1, 0) == 1);
	count = fill(fd);
	NEED(write(execs_full_pipe[1], &count, sizeof(count)) ==
	     (ssize_t)sizeof(count));
	close(fd);
	exec_nothing(false);
}

/* Another process stops this one for so long that the child has waited 2
 * seconds, and asked for another carrier. */
static pid_t execs_full_stopper(void)
{
	struct pollfd pfd = { .fd = execs_full_pipe[0], .events = POLLIN };
	pid_t self = getpid(), pid = fork();

	NEED(pid >= 0);
	if (pid)
		return pid;
	NEED(poll(&pfd, 1, -1) == 1 && kill(self, SIGSTOP) == 0);
	usleep(3500000);
	kill(self, SIGCONT);
	_exit(0);
}

/* The peer does not look before the program is another one, nor does it run
 * all the time. */
static void execs_full(void)
{
	pid_t pid, stopper;
	siginfo_t info;
	size_t count;
	int fd;

	NEED(pipe(execs_full_pipe) == 0);
	stopper = execs_full_stopper();
	fd = child_dial(execs_full_child, &pid);
	send_text(fd, "x");
	NEED(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
	child_end(stopper);
	NEED(read(execs_full_pipe[0], &count, sizeof(count)) ==
	     (ssize_t)sizeof(count));
	say("all of it came, then the end: %d",
	    recv_pattern_all(fd, 0) == count);
	child_end(pid);
}

static void unsent(void)
{
	struct pair pair = pair_new();
	size_t count = fill(pair.client), got;

	SHOW("close of a full socket", close(pair.client));
	got = recv_pattern_all(pair.server, 0);
	say("all of it came, then the end: %d", got == count);
}

static void unsent_nonblocking(void)
{
	struct pair pair = pair_new();
	size_t count, got;

	set_nonblocking(pair.client, true);
	count = fill(pair.client);
	SHOW("close of a full socket", close(pair.client));
	got = recv_pattern_all(pair.server, 0);
	say("all of it came, then the end: %d", got == count);
}

/* How a process ends that has sent data which its peer does not read yet. */
struct ending {
	int listener;
	void (*end)(void);
	struct address address;
};

static void ending_child(void *arg)
{
	struct ending *ending = arg;
	int fd = dial(&ending->address);
	char octet;

	close(ending->listener);
	send_pattern(fd, 60000, 0);
	NEED(recv(fd, &octet, 1, 0) == 1);
	send_pattern(fd, 30000, 60000);
	ending->end();
}

static void process_ends(void (*end)(void))
{
	struct ending ending = { .listener = listen_new(1), .end = end };
	siginfo_t info;
	int fd, status;
	pid_t pid;

	ending.address = address_of(ending.listener);
	pid = child_start(ending_child, &ending);
	fd = take_connection(ending.listener);
	recv_pattern(fd, 60000, 0);
	send_text(fd, "x");
	NEED(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
	say("%zu octets came, then the end", recv_pattern_all(fd, 60000));
	NEED(waitpid(pid, &status, 0) == pid);
	if (WIFSIGNALED(status))
		say("the process was ended by SIG%s",
		    sigabbrev_np(WTERMSIG(status)));
	else
		say("the process ended with %d", WEXITSTATUS(status));
}

static void by_exit(void)
{
	exit(5);
}

static void by__exit(void)
{
	_exit(6);
}

static void by_sigterm(void)
{
	raise(SIGTERM);
}

static void process_exits(void)
{
	process_ends(by_exit);
}

static void process__exits(void)
{
	process_ends(by__exit);
}

static void process_terminated(void)
{
	process_ends(by_sigterm);
}

static void idle_child(int fd)
{
	echo(fd);
}

static void process_killed(void)
{
	pid_t pid;
	int fd = child_dial(idle_child, &pid), status;

	send_text(fd, "abc");
	show_recv("the echo", fd, 3, MSG_WAITALL);
	NEED(kill(pid, SIGKILL) == 0);
	show_recv("after SIGKILL", fd, 10, 0);
	NEED(waitpid(pid, &status, 0) == pid);
}

static void child_that_reads_no_more(int fd)
{
	char octets[3];

	NEED(recv(fd, octets, 3, MSG_WAITALL) == 3);
	send_text(fd, "all");
	pause();
}

/* Unread data makes it a reset with TCP too. */
static void process_killed_unread(void)
{
	pid_t pid;
	int fd = child_dial(child_that_reads_no_more, &pid), status;

	send_text(fd, "abc");
	show_recv("it has read", fd, 3, MSG_WAITALL);
	send_text(fd, "never read");
	wait_sent(fd);
	NEED(kill(pid, SIGKILL) == 0);
	NEED(waitpid(pid, &status, 0) == pid);
	wait_poll(fd, POLLERR);
	show_poll("poll", fd, POLLIN | POLLOUT);
	show_recv("after SIGKILL", fd, 10, 0);
	show_send("send", fd, "x", MSG_NOSIGNAL);
}

static void twice(void)
{
	struct pair pair = pair_used();

	SHOW("close", close(pair.client));
	SHOW("close again", close(pair.client));
	show_recv("recv", pair.client, 10, 0);
	show_send("send", pair.client, "x", 0);
	show_poll("poll", pair.client, POLLIN);
}

static void one_of_two(void)
{
	struct pair pair = pair_used();
	int copy = dup(pair.client);

	SHOW("close one", close(pair.client));
	send_text(copy, "by the other");
	show_recv("recv", pair.server, 20, 0);
	set_nonblocking(pair.server, true);
	show_recv("no end yet", pair.server, 20, 0);
	set_nonblocking(pair.server, false);
	SHOW("close the other", close(copy));
	show_recv("recv", pair.server, 20, 0);
}

static void dup2_over(void)
{
	struct pair pair = pair_used();
	int pipes[2];

	NEED(pipe(pipes) == 0);
	say("dup2 over the socket: %d",
	    dup2(pipes[1], pair.client) == pair.client);
	show_recv("the peer", pair.server, 20, 0);
	SHOW("write to the number", write(pair.client, "abc", 3));
	show_send("send to it", pair.client, "abc", 0);
}

static void dup2_of(void)
{
	struct pair pair = pair_used();
	int number = 77;

	say("dup2: %d", dup2(pair.client, number) == number);
	close(pair.client);
	send_text(number, "to 77");
	show_recv("recv", pair.server, 20, 0);
	send_text(pair.server, "from 77");
	show_recv("recv", number, 20, 0);
	say("dup2 on itself: %d", dup2(number, number) == number);
	say("FD_CLOEXEC %d", fcntl(number, F_GETFD) & FD_CLOEXEC);
	close(number);
	show_recv("recv", pair.server, 20, 0);
}

static void dup3_of(void)
{
	struct pair pair = pair_used();

	say("dup3: %d", dup3(pair.client, 78, O_CLOEXEC) == 78);
	say("FD_CLOEXEC %d and %d", fcntl(78, F_GETFD) & FD_CLOEXEC,
	    fcntl(pair.client, F_GETFD) & FD_CLOEXEC);
	SHOW("dup3 on itself", dup3(78, 78, 0));
	SHOW("dup3 with unknown flags", dup3(78, 79, 1));
	send_text(78, "to 78");
	show_recv("recv", pair.server, 20, 0);
}

static void dup2_between(void)
{
	struct pair first = pair_used(), second = pair_used();

	say("dup2 of one socket over another: %d",
	    dup2(first.client, second.client) == second.client);
	show_recv("the other's peer", second.server, 10, 0);
	send_text(second.client, "both numbers, one socket");
	show_recv("the one's peer", first.server, 30, 0);
}

static void duped_before(void)
{
	int listener = listen_new(1), fd = socket_new(), copy = dup(fd), other;
	struct address address = address_of(listener);

	SHOW("connect by a dup", connect(copy, &address.any, address.len));
	other = take_connection(listener);
	send_text(fd, "by the first");
	show_recv("recv", other, 20, 0);
	send_text(copy, "by the dup");
	show_recv("recv", other, 20, 0);
	send_text(other, "answer");
	show_recv("recv", fd, 3, 0);
	show_recv("recv", copy, 3, 0);
	close(copy);
	send_text(fd, "alone");
	show_recv("recv", other, 20, 0);
}

static void range(void)
{
	struct pair pair = pair_used(), kept = pair_used();

	NEED(dup2(pair.client, 40) == 40);
	close(pair.client);
	SHOW("close_range", close_range(39, 41, 0));
	show_recv("the peer", pair.server, 10, 0);
	show_send("send", 40, "x", 0);
	send_text(kept.client, "kept");
	show_recv("another", kept.server, 10, 0);
}

static void range_cloexec(void)
{
	struct pair pair = pair_used();

	NEED(dup2(pair.client, 40) == 40);
	SHOW("close_range", close_range(40, 40, CLOSE_RANGE_CLOEXEC));
	say("FD_CLOEXEC %d", fcntl(40, F_GETFD) & FD_CLOEXEC);
	send_text(40, "open");
	show_recv("recv", pair.server, 10, 0);
}

static void everything_closed(void)
{
	struct pair pair = pair_used();
	int kept = dup(pair.server), listener = listen_new(1), fd, client;
	struct address address;

	NEED(dup2(kept, 60) == 60 && dup2(listener, 61) == 61);
	/* As daemons do. The descriptor for the text is higher. */
	for (int i = 3; i < 60; i++)
		close(i);
	show_recv("a kept socket sees the end", 60, 10, 0);
	address = address_of(61);
	client = dial(&address);
	fd = take_connection(61);
	send_text(client, "new");
	show_recv("a new connection", fd, 10, 0);
}

static int lowest_number(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

static void number_again(void)
{
	struct pair pair = pair_used();
	int number;

	close(pair.client);
	number = lowest_number();
	say("the next socket has the lowest number: %d",
	    socket_new() == number);
	close(number);
	say("so has a file: %d", open("/dev/null", O_RDWR) == number);
	SHOW("send to it", send(number, "x", 1, 0));
	SHOW("write to it", write(number, "x", 1));
	close(number);
	pair = pair_used();
	say("so has a connected socket: %d",
	    pair.client == number || pair.server == number);
}

static void linger_zero(void)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 0 };
	struct pair pair = pair_used();

	NEED(!setsockopt(pair.client, SOL_SOCKET, SO_LINGER, &linger,
			 sizeof(linger)));
	SHOW("close", close(pair.client));
	wait_poll(pair.server, POLLERR);
	show_poll("poll", pair.server, POLLIN | POLLOUT | POLLRDHUP);
	show_recv("recv", pair.server, 10, 0);
	show_recv("recv again", pair.server, 10, 0);
}

static void close_main(void *arg)
{
	SHOW("the lingering close", close(*(int *)arg));
}

static void linger_waits(void)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 60 };
	struct pair pair = pair_used();
	struct sleeper sleeper;
	size_t count, got;

	NEED(!setsockopt(pair.client, SOL_SOCKET, SO_LINGER, &linger,
			 sizeof(linger)));
	count = fill(pair.client);
	sleeper_start_asleep(&sleeper, close_main, &pair.client);
	say("it waits");
	got = recv_pattern_all(pair.server, 0);
	close(pair.server);
	sleeper_end(&sleeper);
	say("all came: %d", got == count);
}

static void linger_timeout(void)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 1 };
	struct pair pair = pair_used();

	NEED(!setsockopt(pair.client, SOL_SOCKET, SO_LINGER, &linger,
			 sizeof(linger)));
	fill(pair.client);
	SHOW("close that nobody drains", close(pair.client));
}

static void linger_nothing(void)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 60 };
	struct pair pair = pair_used();

	NEED(!setsockopt(pair.client, SOL_SOCKET, SO_LINGER, &linger,
			 sizeof(linger)));
	send_text(pair.client, "abc");
	wait_octets(pair.server, 3);
	SHOW("close with nothing to wait for", close(pair.client));
	show_recv("recv", pair.server, 10, 0);
	show_recv("recv", pair.server, 10, 0);
}

static void both(void)
{
	struct pair pair = pair_used();

	SHOW("one end", close(pair.client));
	wait_poll(pair.server, POLLRDHUP);
	SHOW("the other end", close(pair.server));
}

static void many(void)
{
	int listener = listen_new(1), right = 0;
	struct address address = address_of(listener);

	for (int i = 0; i < 50; i++) {
		int client = dial(&address), fd = take_connection(listener);
		char octet = 0;

		send_text(client, "x");
		/* Each end closes first in turn. */
		if (i % 2) {
			right += recv(fd, &octet, 1, 0) == 1;
			close(fd);
			right += recv(client, &octet, 1, 0) == 0;
			close(client);
		} else {
			close(client);
			right += recv(fd, &octet, 1, 0) == 1;
			right += recv(fd, &octet, 1, 0) == 0;
			close(fd);
		}
	}
	say("%d of 100 looks were right", right);
}

const struct sock_case close_cases[] = {
	{ "close.end-of-stream", end_of_stream },
	{ "close.unused", unused },
	{ "close.data-then-end", data_then_end },
	{ "close.large-then-end", large_then_end },
	{ "close.ends-soon", ends_soon },
	{ "close.execs-soon", execs_soon },
	{ "close.execs-full", execs_full },
	{ "close.unsent", unsent },
	{ "close.unsent-nonblocking", unsent_nonblocking },
	{ "close.process-exits", process_exits },
	{ "close.process-_exits", process__exits },
	{ "close.process-terminated", process_terminated },
	{ "close.process-killed", process_killed },
	{ "close.process-killed-unread", process_killed_unread },
	{ "close.twice", twice },
	{ "close.one-of-two", one_of_two },
	{ "close.dup2-over", dup2_over },
	{ "close.dup2-of", dup2_of },
	{ "close.dup3-of", dup3_of },
	{ "close.dup2-between", dup2_between },
	{ "close.duped-before", duped_before },
	{ "close.range", range },
	{ "close.range-cloexec", range_cloexec },
	{ "close.everything-closed", everything_closed },
	{ "close.number-again", number_again },
	{ "close.linger-zero", linger_zero },
	{ "close.linger-waits", linger_waits },
	{ "close.linger-timeout", linger_timeout },
	{ "close.linger-nothing", linger_nothing },
	{ "close.both", both },
	{ "close.many", many },
	{ NULL, NULL },
};
