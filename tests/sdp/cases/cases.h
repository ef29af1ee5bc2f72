/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Cases of sock-cases: what a program sees of a stream socket.
 *
 * Each case is a function that runs in a process of its own and prints lines
 * "NAME: what happened".  The text is the same in each run: values, names of
 * errors and of events, counts; no ports, no process ids, no times, and no
 * sizes that depend on buffers.  The same text must come over TCP and over
 * SDP.  A case never counts on time: it waits until a state is there, then
 * looks.  It counts on no more than 32 KB of buffers: what a blocking call
 * sends beyond that, another thread or process reads meanwhile.
 */
#ifndef SDP_CASES_H
#define SDP_CASES_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

struct sock_case {
	const char *name; /* "theme.what" */
	void (*run)(void);
};

/* One table for each theme; the last entry has no name. */
extern const struct sock_case accept_cases[], address_cases[], chk_cases[],
	close_cases[], connect_cases[], descriptor_cases[], epoll_cases[],
	error_cases[], exec_cases[], flags_cases[], fork_cases[], jump_cases[],
	limit_cases[], oob_cases[], options_cases[], poll_cases[],
	reset_cases[], select_cases[], shutdown_cases[], signal_cases[],
	splice_cases[], stdio_cases[], stream_cases[], syscall_cases[],
	thread_cases[];

/* ---- what a case prints ------------------------------------------------- */

/* One line of the text; the case's name stands before it. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "WHAT: VALUE", or "WHAT: ERROR" for a value of -1. */
long show_value(const char *what, long value, int error);

#define SHOW(what, call)                                                       \
	({                                                                     \
		long value_;                                                   \
		errno = 0;                                                     \
		value_ = (long)(call);                                         \
		show_value(what, value_, errno);                               \
	})

/* The name of an error: "EAGAIN". */
const char *error_name(int error);
/* The names of poll's or epoll's events: "IN|OUT"; "none". */
const char *events_name(unsigned events);

/* Without which the case makes no sense: says so and ends the case. */
#define NEED(condition)                                                        \
	do {                                                                   \
		if (!(condition))                                              \
			need_failed(#condition, __FILE__, __LINE__);           \
	} while (0)
void need_failed(const char *condition, const char *file, int line)
	__attribute__((noreturn));

/* recv() of up to @size octets; prints their number and the text. */
ssize_t show_recv(const char *what, int fd, size_t size, int flags);
/* send() of the text. */
ssize_t show_send(const char *what, int fd, const char *text, int flags);
/* What poll() shows now. */
void show_poll(const char *what, int fd, short events);
/* SO_ERROR, which it takes. */
void show_so_error(const char *what, int fd);
void show_option(const char *what, int fd, int level, int name);

/* ---- waiting ------------------------------------------------------------ */

void nap(void);
#define UNTIL(condition)                                                       \
	do {                                                                   \
		while (!(condition))                                           \
			nap();                                                 \
	} while (0)

/* Until poll() shows all of @events. */
void wait_poll(int fd, short events);
/* Until so many octets can be read. */
void wait_octets(int fd, int count);
/* Until the peer has all that was sent. */
void wait_sent(int fd);
/* Until the main thread of the process, a thread of this process, sleeps. */
void wait_process_asleep(pid_t pid);
void wait_thread_asleep(pid_t tid);

/* ---- addresses and connections ------------------------------------------ */

extern int fixture_family; /* AF_INET, or AF_INET6 */

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_storage storage;
	};
	socklen_t len;
};

/* The loopback address of the family, port 0. */
struct address address_loopback(int family);
struct address address_of(int fd);
struct address address_of_peer(int fd);
bool address_is_same(const struct address *a, const struct address *b);
/* "127.0.0.1", or "[::1]"; with ":port" if it has one. */
const char *address_name(const struct address *address);

int socket_new(void);
/* Listens on a free port of the loopback address. */
int listen_new(int backlog);
/* A socket bound to a free port that does not listen. */
int bound_new(void);
int dial(const struct address *address);
int take_connection(int listener);

/* A listener without space for a further connection: one waits in it. */
struct full_listener {
	int listener;
	int waiting;
	struct address address;
};

struct full_listener full_listener_new(void);

struct pair {
	int client; /* the end that connected */
	int server; /* the end that was accepted */
};

struct pair pair_new(void);
/* A pair on which octets have gone each way. */
struct pair pair_used(void);
/* The peer is gone by a reset, and the server end knows. */
int reset_new(void);

/* ---- data --------------------------------------------------------------- */

void send_text(int fd, const char *text);
/* Sends so many octets of the pattern that begins at @offset. */
void send_pattern(int fd, size_t count, size_t offset);
/* Receives so many octets; says what is wrong with them. */
void recv_pattern(int fd, size_t count, size_t offset);
/* Receives up to the end of the stream; returns the count. */
size_t recv_pattern_all(int fd, size_t offset);
void pattern_make(void *octets, size_t count, size_t offset);
bool pattern_is_right(const void *octets, size_t count, size_t offset);
/* Sends the pattern until nothing more fits: send() gives EAGAIN, and poll()
 * shows no OUT.  Returns the count.  Later some space may come without a
 * read, as the stack has timers. */
size_t fill(int fd);
/* Goes on with the octet at *@count. */
void fill_more(int fd, size_t *count);
/* Sends back what comes, until the end of the stream. */
void echo(int fd);
void set_nonblocking(int fd, bool is_on);
void set_int(int fd, int level, int name, int value);
void set_timeout(int fd, int name, int ms);

/* ---- processes, threads, signals ---------------------------------------- */

/* A child that calls @run and exits with 0. */
pid_t child_start(void (*run)(void *), void *arg);
/* Waits for a child; anything but exit code 0 ends the case. */
void child_end(pid_t pid);
/* A child that connects to us and calls @run; returns our end. */
int child_dial(void (*run)(int fd), pid_t *ret_pid);
/* A child that accepts from us and calls @run; returns our end. */
int child_accept(void (*run)(int fd), pid_t *ret_pid);

struct sleeper {
	pthread_t thread;
	atomic_int tid;
	atomic_bool is_over;
	void (*run)(void *);
	void *arg;
};

void sleeper_start(struct sleeper *sleeper, void (*run)(void *), void *arg);
/* Until the thread sleeps in the call that it makes. */
void sleeper_wait(struct sleeper *sleeper);
void sleeper_start_asleep(struct sleeper *sleeper, void (*run)(void *),
			  void *arg);
/* Whether it sleeps; false: the call has returned, and the thread has ended. */
bool sleeper_sleeps(struct sleeper *sleeper);
void sleeper_end(struct sleeper *sleeper);

/* What such threads do, and say what came of it: recv() of up to 10 octets, and
 * a send() of so many octets of the pattern, on the descriptor *@fd; poll(). */
#define SLEEPING_SEND_LEN (1 << 20)
struct watched {
	int fd;
	short events;
};

void sleeping_recv(void *fd);
void sleeping_send(void *fd);
void sleeping_poll(void *watched);

/* Counts the signals of a kind. */
extern atomic_int caught[65];
void catch_signal(int number, int flags);
/* Counts SIGUSR1 from now on, and blocks it.  Return: the set of it. */
sigset_t block_usr1(void);

#endif
