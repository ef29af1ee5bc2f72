/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sendfile() and splice(). */
#include "cases.h"

#include <sys/mman.h>
#include <sys/sendfile.h>

/* Makes a file with that many octets of the pattern. */
static int file_new(size_t count)
{
	char *octets = malloc(count);
	int file = memfd_create("octets", 0);

	NEED(octets && file >= 0);
	pattern_make(octets, count, 0);
	NEED(write(file, octets, count) == (ssize_t)count);
	NEED(lseek(file, 0, SEEK_SET) == 0);
	free(octets);
	return file;
}

static void file(void)
{
	struct pair pair = pair_new();
	int source = file_new(5000), pipes[2];
	off_t at = 1000;

	SHOW("sendfile", sendfile(pair.client, source, NULL, 1000));
	say("the file's position: %ld", (long)lseek(source, 0, SEEK_CUR));
	SHOW("sendfile from an offset",
	     sendfile(pair.client, source, &at, 4000));
	say("the offset: %ld, the position: %ld", (long)at,
	    (long)lseek(source, 0, SEEK_CUR));
	SHOW("sendfile at the end", sendfile(pair.client, source, &at, 10));
	SHOW("sendfile of none", sendfile(pair.client, source, NULL, 0));
	NEED(!pipe(pipes));
	SHOW("sendfile from a pipe", sendfile(pair.client, pipes[0], NULL, 1));
	SHOW("... and an offset", sendfile(pair.client, pipes[0], &at, 1));
	recv_pattern(pair.server, 5000, 0);
	say("5000 octets are right");
}

static void file_used(void)
{
	struct pair pair = pair_used();

	SHOW("sendfile", sendfile(pair.client, file_new(5000), NULL, 5000));
	recv_pattern(pair.server, 5000, 0);
	send_text(pair.client, "after");
	show_recv("recv", pair.server, 10, 0);
}

static void file_large_child(int fd)
{
	const size_t size = 4 << 20;
	int source = file_new(size);
	size_t count = 0;

	while (count < size) {
		ssize_t sent = sendfile(fd, source, NULL, size - count);

		NEED(sent > 0);
		count += (size_t)sent;
	}
}

static void file_large(void)
{
	pid_t pid;
	int fd = child_dial(file_large_child, &pid);

	say("%zu octets came", recv_pattern_all(fd, 0));
	child_end(pid);
}

static void file_nonblocking(void)
{
	const size_t size = 32 << 20;
	struct pair pair = pair_used();
	int source = file_new(size);
	ssize_t sent;
	size_t count = 0;

	set_nonblocking(pair.client, true);
	while ((sent = sendfile(pair.client, source, NULL, size)) > 0)
		count += (size_t)sent;
	say("sendfile until %s", error_name(errno));
	say("32 megabytes went in part: %d", count > 0 && count < size);
	say("the file's position is the count: %d",
	    (size_t)lseek(source, 0, SEEK_CUR) == count);
	recv_pattern(pair.server, count, 0);
	say("that part came");
}

static void file_errors(void)
{
	struct pair pair = pair_used();
	int source = file_new(10), pipes[2];

	NEED(pipe(pipes) == 0);
	signal(SIGPIPE, SIG_IGN);
	SHOW("from a socket", sendfile(source, pair.client, NULL, 10));
	SHOW("to no descriptor", sendfile(-1, source, NULL, 10));
	SHOW("from no descriptor", sendfile(pair.client, -1, NULL, 10));
	SHOW("to a fresh socket", sendfile(socket_new(), source, NULL, 10));
	NEED(shutdown(pair.client, SHUT_WR) == 0);
	NEED(lseek(source, 0, SEEK_SET) == 0);
	SHOW("after shutdown", sendfile(pair.client, source, NULL, 10));
}

static void in(void)
{
	struct pair pair = pair_used();
	int pipes[2];

	NEED(pipe(pipes) == 0);
	NEED(write(pipes[1], "through a pipe", 14) == 14);
	SHOW("splice", splice(pipes[0], NULL, pair.client, NULL, 100, 0));
	show_recv("recv", pair.server, 20, 0);
	SHOW("splice of an empty pipe",
	     splice(pipes[0], NULL, pair.client, NULL, 100, SPLICE_F_NONBLOCK));
	close(pipes[1]);
	SHOW("splice at the pipe's end",
	     splice(pipes[0], NULL, pair.client, NULL, 100, 0));
}

/*
 * A non-blocking socket: what it has no space for stays in the pipe.  TCP that
 * has refused a send() may take some octets of a pipe in its last segment.
 * Others take their place in the pipe, so that six are left in any case.
 */
static void in_nonblocking(void)
{
	struct pair pair = pair_used();
	char octet = 0;
	size_t count, taken = 0;
	int pipes[2];
	ssize_t got;

	NEED(pipe(pipes) == 0);
	NEED(write(pipes[1], "0123xxxxxx", 10) == 10);
	set_nonblocking(pair.client, true);
	SHOW("with space", splice(pipes[0], NULL, pair.client, NULL, 4, 0));
	show_recv("recv", pair.server, 20, 0);
	count = fill(pair.client);
	while ((got = splice(pipes[0], NULL, pair.client, NULL, 100, 0)) > 0) {
		NEED(write(pipes[1], "xxxxxx", (size_t)got) == got);
		taken += (size_t)got;
	}
	say("without space: %s", error_name(errno));
	recv_pattern(pair.server, count, 0);
	wait_poll(pair.client, POLLOUT);
	SHOW("with space again",
	     splice(pipes[0], NULL, pair.client, NULL, 100, 0));
	for (size_t i = 0; i < taken + 6; i++)
		NEED(recv(pair.server, &octet, 1, 0) == 1 && octet == 'x');
	set_nonblocking(pair.server, true);
	show_recv("no octet too many", pair.server, 10, 0);
}

static void out(void)
{
	struct pair pair = pair_used();
	char text[20] = "";
	int pipes[2];

	NEED(pipe(pipes) == 0);
	send_text(pair.client, "0123456789");
	wait_octets(pair.server, 10);
	SHOW("splice of 4", splice(pair.server, NULL, pipes[1], NULL, 4, 0));
	SHOW("splice", splice(pair.server, NULL, pipes[1], NULL, 100, 0));
	SHOW("read of the pipe", read(pipes[0], text, sizeof(text)));
	say("%s", text);
	set_nonblocking(pair.server, true);
	SHOW("splice of nothing",
	     splice(pair.server, NULL, pipes[1], NULL, 100, 0));
	set_nonblocking(pair.server, false);
	close(pair.client);
	SHOW("splice at the end",
	     splice(pair.server, NULL, pipes[1], NULL, 100, 0));
}

struct waiting {
	int from, to;
};

static void splice_main(void *arg)
{
	const struct waiting *waiting = arg;

	SHOW("the sleeping splice", splice(waiting->from, NULL, waiting->to,
					   NULL, 100, SPLICE_F_NONBLOCK));
}

/* SPLICE_F_NONBLOCK concerns the pipe. */
static void out_waits(void)
{
	struct pair pair = pair_used();
	struct waiting waiting = { .from = pair.server };
	struct sleeper sleeper;
	int pipes[2];

	NEED(pipe(pipes) == 0);
	waiting.to = pipes[1];
	sleeper_start_asleep(&sleeper, splice_main, &waiting);
	say("it waits for the socket");
	send_text(pair.client, "abc");
	sleeper_end(&sleeper);
}

static void proxy_child(int fd)
{
	send_pattern(fd, 30000, 0);
	NEED(shutdown(fd, SHUT_WR) == 0);
	say("%zu octets came back", recv_pattern_all(fd, 0));
}

/* From socket to pipe to socket, as proxies do. */
static void proxy(void)
{
	pid_t pid;
	int fd = child_dial(proxy_child, &pid), pipes[2];
	ssize_t got;

	NEED(pipe(pipes) == 0);
	while ((got = splice(fd, NULL, pipes[1], NULL, 65536,
			     SPLICE_F_MOVE | SPLICE_F_MORE)) > 0) {
		while (got > 0) {
			ssize_t sent = splice(pipes[0], NULL, fd, NULL,
					      (size_t)got, SPLICE_F_MOVE);

			NEED(sent > 0);
			got -= sent;
		}
	}
	SHOW("splice at the end", got);
	NEED(shutdown(fd, SHUT_WR) == 0);
	child_end(pid);
}

static void errors(void)
{
	struct pair pair = pair_used();
	loff_t at = 0;
	int pipes[2];

	NEED(pipe(pipes) == 0);
	SHOW("socket to socket",
	     splice(pair.client, NULL, pair.server, NULL, 10, 0));
	SHOW("with an offset", splice(pair.client, &at, pipes[1], NULL, 10, 0));
	SHOW("unknown flags",
	     splice(pair.client, NULL, pipes[1], NULL, 10, 99999));
	SHOW("of none", splice(pair.client, NULL, pipes[1], NULL, 0, 0));
	SHOW("of a fresh socket",
	     splice(socket_new(), NULL, pipes[1], NULL, 10, 0));
	SHOW("copy_file_range",
	     copy_file_range(pair.client, NULL, pipes[1], NULL, 10, 0));
}

/* The socket keeps octets that would remain in the pipe. */
static void without_reader(void)
{
	struct pair pair = pair_used();
	int fds[2];

	catch_signal(SIGPIPE, 0);
	NEED(pipe(fds) == 0);
	close(fds[0]);
	send_text(pair.client, "abc");
	wait_octets(pair.server, 3);
	SHOW("splice", splice(pair.server, NULL, fds[1], NULL, 10, 0));
	say("SIGPIPE: %d", caught[SIGPIPE]);
	show_recv("recv", pair.server, 10, 0);
}

static void from_memory(void)
{
	struct pair pair = pair_used();
	char text[] = "by vmsplice";
	struct iovec vec = { text, sizeof(text) - 1 };
	int pipes[2];

	NEED(pipe(pipes) == 0);
	SHOW("vmsplice", vmsplice(pipes[1], &vec, 1, 0));
	SHOW("splice", splice(pipes[0], NULL, pair.client, NULL, 100, 0));
	show_recv("recv", pair.server, 20, 0);
	SHOW("vmsplice to a socket", vmsplice(pair.client, &vec, 1, 0));
}

const struct sock_case splice_cases[] = {
	{ "splice.file", file },
	{ "splice.file-used", file_used },
	{ "splice.file-large", file_large },
	{ "splice.file-nonblocking", file_nonblocking },
	{ "splice.file-errors", file_errors },
	{ "splice.in", in },
	{ "splice.in-nonblocking", in_nonblocking },
	{ "splice.out", out },
	{ "splice.out-waits", out_waits },
	{ "splice.proxy", proxy },
	{ "splice.errors", errors },
	{ "splice.without-reader", without_reader },
	{ "splice.from-memory", from_memory },
	{ NULL, NULL },
};
