/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A process of a connection is killed in mid-stream. TCP's kernel goes on with
 * what the process has sent. Where octets are missing, the reader gets an error
 * and no end of the stream. */
#include "cases.h"

#include <sys/epoll.h>
#include <sys/mman.h>

/* More than the stack holds. */
#define TOTAL ((size_t)32 << 20)

/* Octets that send() has accepted, in all processes. */
static _Atomic size_t *sent;

static void sent_begin(void)
{
	sent = mmap(NULL, sizeof(*sent), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	NEED(sent != MAP_FAILED);
}

static size_t sent_get(void)
{
	return atomic_load_explicit(sent, memory_order_relaxed);
}

/* Sends up to an error, or TOTAL octets. */
static void flood(int fd)
{
	unsigned char chunk[65536];
	size_t at = 0;
	ssize_t got = 1;

	while (at < TOTAL && got > 0) {
		pattern_make(chunk, sizeof(chunk), at);
		got = send(fd, chunk, sizeof(chunk), MSG_NOSIGNAL);
		at += got > 0 ? (size_t)got : 0;
		atomic_store_explicit(sent, at, memory_order_relaxed);
	}
}

/* The same when the peer has used the connection. */
static void flood_used(int fd)
{
	char octet;

	send_text(fd, "x");
	NEED(recv(fd, &octet, 1, 0) == 1);
	flood(fd);
}

static void use(int fd)
{
	char octet;

	NEED(recv(fd, &octet, 1, 0) == 1);
	send_text(fd, "y");
}

static void flood_arg(void *fd)
{
	flood(*(int *)fd);
}

#define STUCK_LOOKS 30

/* Waits until the sender sleeps because nothing more fits. */
static void wait_stuck(void)
{
	size_t before = 0, now;

	for (int looks = 0; looks < STUCK_LOOKS; looks++) {
		nap();
		now = sent_get();
		if (now == 0 || now != before)
			looks = -1;
		before = now;
	}
}

static void kill_child(pid_t pid)
{
	int status;

	NEED(kill(pid, SIGKILL) == 0);
	NEED(waitpid(pid, &status, 0) == pid);
}

/* Return: this process's end of a connection whose other end has sent as much
 * as fits, and was killed. */
static int killed_sender(void)
{
	pid_t pid;
	int fd;

	sent_begin();
	fd = child_dial(flood_used, &pid);
	use(fd);
	wait_stuck();
	kill_child(pid);
	return fd;
}

static void judge(size_t count, bool is_end)
{
	say("an end in place of octets: %d", is_end && count < sent_get());
}

/* Reads as a program that does not know sockets. */
static void read_all(int fd)
{
	unsigned char octets[65536];
	size_t count = 0;
	ssize_t got;

	while ((got = read(fd, octets, sizeof(octets))) > 0) {
		NEED(pattern_is_right(octets, (size_t)got, count));
		count += (size_t)got;
	}
	judge(count, got == 0);
}

static void read_all_arg(void *fd)
{
	read_all(*(int *)fd);
}

static void use_and_stay(int fd)
{
	use(fd);
	for (;;)
		pause();
}

static void write_to_error(void *fd)
{
	flood(*(int *)fd);
	say("the child could not write all: %d", sent_get() < TOTAL);
}

static void reads(void)
{
	read_all(killed_sender());
}

static void child_reads(void)
{
	int fd = killed_sender();
	pid_t pid = child_start(read_all_arg, &fd);

	close(fd);
	child_end(pid);
}

/* This process has the number open, too. */
static void child_beside_reads(void)
{
	int fd = killed_sender();

	child_end(child_start(read_all_arg, &fd));
}

static void stdio_reads(void)
{
	FILE *f = fdopen(killed_sender(), "r");
	char octets[4096];
	size_t count = 0, got;

	NEED(f);
	while ((got = fread(octets, 1, sizeof(octets), f)) > 0)
		count += got;
	judge(count, !ferror(f));
}

static pid_t cat_start(int from, int to)
{
	pid_t pid = fork();

	NEED(pid >= 0);
	if (pid == 0) {
		if (dup2(from, 0) == 0 && dup2(to, 1) == 1)
			execlp("cat", "cat", NULL);
		_exit(127);
	}
	return pid;
}

/* Return: octets up to the end of a pipe. */
static size_t pipe_read(int fd)
{
	char octets[65536];
	size_t count = 0;
	ssize_t got;

	while ((got = read(fd, octets, sizeof(octets))) > 0)
		count += (size_t)got;
	NEED(got == 0);
	return count;
}

static void program_reads(void)
{
	int fd = killed_sender(), ways[2], status;
	size_t count;
	pid_t pid;

	NEED(pipe2(ways, O_CLOEXEC) == 0);
	pid = cat_start(fd, ways[1]);
	close(fd);
	close(ways[1]);
	count = pipe_read(ways[0]);
	NEED(waitpid(pid, &status, 0) == pid);
	judge(count, status == 0);
}

/* The reader is inside its call. */
static void sleeper_reads(void)
{
	pid_t sender, reader;
	int fd;

	sent_begin();
	fd = child_dial(flood_used, &sender);
	use(fd);
	reader = child_start(read_all_arg, &fd);
	close(fd);
	UNTIL(sent_get() > TOTAL / 4);
	kill_child(sender);
	child_end(reader);
}

/* A program that only writes sees it, too. */
static void child_writes(void)
{
	pid_t peer, writer;
	char octet;
	int fd;

	sent_begin();
	fd = child_dial(use_and_stay, &peer);
	send_text(fd, "x");
	NEED(recv(fd, &octet, 1, 0) == 1);
	writer = child_start(write_to_error, &fd);
	close(fd);
	wait_stuck();
	kill_child(peer);
	child_end(writer);
}

/* ---- the process that has the connection ---- */

struct relayed {
	int begun[2]; /* its end: the child uses the connection */
	int gate[2];  /* its end lets the child go on */
	int done[2];  /* its end: the child has ended */
	struct address address;
	void (*run)(const struct relayed *relayed, int fd);
};

/* A process that has the connection, and a child that uses it. */
static void middle(void *arg)
{
	struct relayed *relayed = arg;
	int fd = dial(&relayed->address);
	char octet;

	/* SDP begins. */
	NEED(recv(fd, &octet, 1, 0) == 1);
	close(relayed->gate[1]);
	if (fork() == 0) {
		relayed->run(relayed, fd);
		exit(0);
	}
	close(relayed->begun[1]);
	close(relayed->done[1]);
	for (;;)
		pause();
}

/* Starts both. Return: this process's end of the connection. */
static int middle_start(struct relayed *relayed, pid_t *ret_pid)
{
	int listener = listen_new(1), fd;

	sent_begin();
	relayed->address = address_of(listener);
	NEED(pipe(relayed->begun) == 0 && pipe(relayed->gate) == 0 &&
	     pipe(relayed->done) == 0);
	*ret_pid = child_start(middle, relayed);
	close(relayed->begun[1]);
	close(relayed->done[1]);
	fd = take_connection(listener);
	send_text(fd, "x");
	return fd;
}

static void end_wait(const int *pipe_fds)
{
	char octet;

	NEED(read(pipe_fds[0], &octet, 1) == 0);
}

static void middle_child_reads(const struct relayed *relayed, int fd)
{
	char octet;

	/* From now on the other process copies. */
	NEED(recv(fd, &octet, 1, MSG_PEEK) == 1);
	close(relayed->begun[1]);
	end_wait(relayed->gate);
	read_all(fd);
}

static void parent_of_reader(void)
{
	struct relayed relayed = { .run = middle_child_reads };
	struct sleeper sender;
	pid_t pid;
	int fd = middle_start(&relayed, &pid);

	sleeper_start(&sender, flood_arg, &fd);
	end_wait(relayed.begun);
	wait_stuck();
	kill_child(pid);
	close(relayed.gate[1]);
	sleeper_end(&sender);
	close(fd);
	end_wait(relayed.done);
}

static void middle_child_writes(const struct relayed *relayed, int fd)
{
	(void)relayed;
	flood(fd);
}

static void parent_of_writer(void)
{
	struct relayed relayed = { .run = middle_child_writes };
	pid_t pid;
	int fd = middle_start(&relayed, &pid);

	wait_stuck();
	kill_child(pid);
	read_all(fd);
	end_wait(relayed.done);
}

/* ---- what was there before a process got the connection ---- */

static void text_child(void *fd)
{
	char octets[100];
	ssize_t got, len = 0;

	while ((got = read(*(int *)fd, octets + len, 100 - (size_t)len)) > 0)
		len += got;
	say("the child has %zd octets, then %s", len,
	    got ? error_name(errno) : "the end");
}

/* Something else shows the end before it comes. */
static void watched_end(void)
{
	struct pair pair = pair_used();
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP };
	int set = epoll_create1(0), outer = epoll_create1(0);

	NEED(set >= 0 && outer >= 0);
	NEED(!epoll_ctl(set, EPOLL_CTL_ADD, pair.server, &event));
	NEED(!epoll_ctl(outer, EPOLL_CTL_ADD, set, &event));
	send_text(pair.client, "the last words");
	NEED(shutdown(pair.client, SHUT_WR) == 0);
	NEED(epoll_wait(outer, &event, 1, -1) == 1);
	wait_poll(pair.server, POLLIN | POLLRDHUP);
	child_end(child_start(text_child, &pair.server));
}

static void watched_end_stdio(void)
{
	struct pair pair = pair_used();
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP };
	int set = epoll_create1(0), outer = epoll_create1(0);
	char line[100] = "";
	FILE *f;

	NEED(set >= 0 && outer >= 0);
	NEED(!epoll_ctl(set, EPOLL_CTL_ADD, pair.server, &event));
	NEED(!epoll_ctl(outer, EPOLL_CTL_ADD, set, &event));
	send_text(pair.client, "the last words\n");
	NEED(shutdown(pair.client, SHUT_WR) == 0);
	NEED(epoll_wait(outer, &event, 1, -1) == 1);
	wait_poll(pair.server, POLLIN | POLLRDHUP);
	f = fdopen(pair.server, "r");
	NEED(f);
	say("fgets: %d", fgets(line, sizeof(line), f) != NULL);
	say("%zu octets", strlen(line));
	say("then fgets: %d, error %d", fgets(line, sizeof(line), f) != NULL,
	    ferror(f));
}

static void send_child(void *fd)
{
	show_send("the child's send", *(int *)fd, "x", MSG_NOSIGNAL);
}

static void shut_before(void)
{
	struct pair pair = pair_used();

	NEED(shutdown(pair.client, SHUT_WR) == 0);
	child_end(child_start(send_child, &pair.client));
	show_recv("the peer", pair.server, 10, 0);
}

/* Octets that nobody has read. */
static void reader_ends_child(void *fd)
{
	char octet;

	NEED(recv(*(int *)fd, &octet, 1, 0) == 1);
}

static void reader_ends(void)
{
	struct pair pair = pair_used();
	pid_t pid;

	send_text(pair.client, "0123456789");
	wait_octets(pair.server, 10);
	pid = child_start(reader_ends_child, &pair.server);
	close(pair.server);
	child_end(pid);
	wait_poll(pair.client, POLLHUP);
	show_recv("the writer", pair.client, 10, 0);
}

const struct sock_case lost_cases[] = {
	{ "lost.reads", reads },
	{ "lost.child-reads", child_reads },
	{ "lost.child-beside-reads", child_beside_reads },
	{ "lost.stdio-reads", stdio_reads },
	{ "lost.program-reads", program_reads },
	{ "lost.sleeper-reads", sleeper_reads },
	{ "lost.child-writes", child_writes },
	{ "lost.parent-of-reader", parent_of_reader },
	{ "lost.parent-of-writer", parent_of_writer },
	{ "lost.watched-end", watched_end },
	{ "lost.watched-end-stdio", watched_end_stdio },
	{ "lost.shut-before", shut_before },
	{ "lost.reader-ends", reader_ends },
	{ NULL, NULL },
};
