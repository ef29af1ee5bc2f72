/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The functions that _FORTIFY_SOURCE substitutes, which Debian's programs
 * import: __recv_chk() and others.
 */
#include "cases.h"

#include <sys/select.h>

ssize_t __recv_chk(int fd, void *octets, size_t len, size_t size, int flags);
ssize_t __recvfrom_chk(int fd, void *octets, size_t len, size_t size, int flags,
		       struct sockaddr *from, socklen_t *from_len);
ssize_t __read_chk(int fd, void *octets, size_t len, size_t size);
int __poll_chk(struct pollfd *list, nfds_t count, int ms, size_t size);
int __ppoll_chk(struct pollfd *list, nfds_t count, const struct timespec *limit,
		const sigset_t *mask, size_t size);
long __fdelt_chk(long fd);
int __dprintf_chk(int fd, int flag, const char *format, ...);

static void receive(void)
{
	struct pair pair = pair_used();
	char text[20] = "";
	struct address from = { .len = sizeof(from.storage) };

	send_text(pair.client, "abcdefghijkl");
	wait_octets(pair.server, 12);
	SHOW("__recv_chk", __recv_chk(pair.server, text, 4, 20, MSG_PEEK));
	say("%s", text);
	SHOW("__recv_chk", __recv_chk(pair.server, text, 4, 20, 0));
	say("%s", text);
	SHOW("__recvfrom_chk",
	     __recvfrom_chk(pair.server, text, 4, 20, 0, &from.any, &from.len));
	say("%s, address of %u octets", text, from.len);
	SHOW("__read_chk", __read_chk(pair.server, text, 19, 20));
	say("%s", text);
	SHOW("__recv_chk without waiting",
	     __recv_chk(pair.server, text, 4, 20, MSG_DONTWAIT));
}

static void waiting(void)
{
	struct pair pair = pair_used();
	struct pollfd look = { .fd = pair.server, .events = POLLIN };

	SHOW("__poll_chk", __poll_chk(&look, 1, 0, sizeof(look)));
	send_text(pair.client, "x");
	SHOW("__poll_chk", __poll_chk(&look, 1, -1, sizeof(look)));
	say("%s", events_name((unsigned)look.revents));
	SHOW("__ppoll_chk", __ppoll_chk(&look, 1, NULL, NULL, sizeof(look)));
	say("%s", events_name((unsigned)look.revents));
}

static void chosen(void)
{
	struct pair pair = pair_used();
	fd_set set;

	FD_ZERO(&set);
	say("__fdelt_chk: %d",
	    __fdelt_chk(pair.server) == pair.server / NFDBITS);
	FD_SET(pair.server, &set);
	send_text(pair.client, "x");
	SHOW("select", select(pair.server + 1, &set, NULL, NULL, NULL));
}

/* Whether libc ends a program that calls @run(@fd). */
static bool is_ended(void (*run)(int fd), int fd)
{
	pid_t pid = fork();
	int status;

	NEED(pid >= 0);
	if (pid == 0) {
		/* libc writes to the terminal, if there is one. */
		NEED(close(2) == 0 || errno == EBADF);
		run(fd);
		exit(0);
	}
	NEED(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void receive_too_much(int fd)
{
	char text[20];

	__recv_chk(fd, text, 21, 20, MSG_DONTWAIT);
}

static void overflow(void)
{
	struct pair pair = pair_new();

	say("a length above the size ends the program: %d",
	    is_ended(receive_too_much, pair.server));
}

/* In writable memory. */
static void print_count(int fd)
{
	char format[] = "text%n";
	int count;

	__dprintf_chk(fd, 1, format, &count);
}

static void print(void)
{
	struct pair pair = pair_used();

	SHOW("__dprintf_chk",
	     __dprintf_chk(pair.client, 1, "%s %d", "value", 7));
	show_recv("recv", pair.server, 20, 0);
	say("%%n ends the program: %d", is_ended(print_count, pair.client));
}

const struct sock_case chk_cases[] = {
	{ "chk.receive", receive }, { "chk.waiting", waiting },
	{ "chk.chosen", chosen },   { "chk.overflow", overflow },
	{ "chk.print", print },	    { NULL, NULL },
};
