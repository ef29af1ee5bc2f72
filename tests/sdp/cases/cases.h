/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Cases of sock-cases: what a program sees of a stream socket.
 *
 * Each case is a function that runs in its own process and prints lines "NAME:
 * what happened". The text is the same in each run: values, names of errors and
 * of events, counts; no ports, process ids, times, or sizes that depend on
 * buffers. The text must be the same over TCP and over SDP. A case never
 * depends on time: it waits for a state, then checks. It relies on at most 32
 * KB of buffers: if a blocking call sends more, another thread or process reads
 * meanwhile.
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

/* One table for each theme. The last entry has no name. */
extern const struct sock_case accept_cases[], address_cases[], answer_cases[],
	chk_cases[], close_cases[], connect_cases[], descriptor_cases[],
	epoll_cases[], error_cases[], exec_cases[], flags_cases[], fork_cases[],
	jump_cases[], limit_cases[], lost_cases[], oob_cases[], options_cases[],
	poll_cases[], reset_cases[], select_cases[], shutdown_cases[],
	signal_cases[], splice_cases[], stdio_cases[], stream_cases[],
	syscall_cases[], thread_cases[];

/* ---- what a case prints ---- */

/* Prints one line, preceded by the name of the case. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints "WHAT: VALUE", or "WHAT: ERROR" for a value of -1. */
long show_value(const char *what, long value, int error);

#define SHOW(what, call)                                                       \
	({                                                                     \
		long value_;                                                   \
		errno = 0;                                                     \
		value_ = (long)(call);                                         \
		show_value(what, value_, errno);                               \
	})

/* The name of an error, for example "EAGAIN". */
const char *error_name(int error);
/* The names of poll's or epoll's events: "IN|OUT"; "none". */
const char *events_name(unsigned events);

/* A condition that the case needs: prints it and ends the case if it is
 * false. */
#define NEED(condition)                                                        \
	do {                                                                   \
		if (!(condition))                                              \
			need_failed(#condition, __FILE__, __LINE__);           \
	} while (0)
void need_failed(const char *condition, const char *file, int line)
	__attribute__((noreturn));

/* Calls recv() for up to @size octets; prints their number and the text. */
ssize_t show_recv(const char *what, int fd, size_t size, int flags);
/* Sends the text. */
ssize_t show_send(const char *what, int fd, const char *text, int flags);
/* Prints what poll() returns now. */
void show_poll(const char *what, int fd, short events);
/* Prints SO_ERROR, which clears it. */
void show_so_error(const char *what, int fd);
void show_option(const char *what, int fd, int level, int name);

/* ---- waiting ---- */

void nap(void);
#define UNTIL(condition)                                                       \
	do {                                                                   \
		while (!(condition))                                           \
			nap();                                                 \
	} while (0)

/* Waits until poll() returns all of @events. */
void wait_poll(int fd, short events);
/* Waits until that many octets can be read. */
void wait_octets(int fd, int count);
/* Waits until the peer has everything that was sent. */
void wait_sent(int fd);
/* Waits until the main thread of the process, a thread of this process,
 * sleeps. */
void wait_process_asleep(pid_t pid);
void wait_thread_asleep(pid_t tid);

/* ---- addresses and connections ---- */

extern int fixture_family;   /* AF_INET, or AF_INET6 */
extern bool fixture_is_cold; /* pair_used() gives pairs that were not used */

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
/* A listener with a full queue: one connection waits in it. */
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
/* A pair on which octets were sent in each direction; with --cold one that was
 * not used, so that the case itself begins SDP. */
struct pair pair_used(void);
/* A socket whose peer has reset the connection. */
int reset_new(void);

/* ---- data ---- */

void send_text(int fd, const char *text);
/* Sends that many octets of the pattern that begins at @offset. */
void send_pattern(int fd, size_t count, size_t offset);
/* Receives that many octets and prints errors in them. */
void recv_pattern(int fd, size_t count, size_t offset);
/* Receives up to the end of the stream. Return: number of octets. */
size_t recv_pattern_all(int fd, size_t offset);
void pattern_make(void *octets, size_t count, size_t offset);
bool pattern_is_right(const void *octets, size_t count, size_t offset);
/* Sends the pattern until nothing more fits: send() returns EAGAIN, and poll()
 * does not report OUT. Return: the number of octets. Some space may appear
 * later without a read, because the stack has timers. */
size_t fill(int fd);
/* Continues with octet *@count. */
void fill_more(int fd, size_t *count);
/* Sends back what it receives, until the end of the stream. */
void echo(int fd);
void set_nonblocking(int fd, bool is_on);
void set_int(int fd, int level, int name, int value);
void set_timeout(int fd, int name, int ms);

/* ---- processes, threads, signals ---- */

/* Starts a child that calls @run and exits with 0. */
pid_t child_start(void (*run)(void *), void *arg);
/* Waits for a child. Any exit code but 0 ends the case. */
void child_end(pid_t pid);
/* Starts a child that connects to this process and calls @run. Return: this
 * process's end. */
int child_dial(void (*run)(int fd), pid_t *ret_pid);
/* Starts a child that accepts from this process and calls @run. Return: this
 * process's end. */
int child_accept(void (*run)(int fd), pid_t *ret_pid);

struct sleeper {
	pthread_t thread;
	atomic_int tid;
	atomic_bool is_over;
	void (*run)(void *);
	void *arg;
};

void sleeper_start(struct sleeper *sleeper, void (*run)(void *), void *arg);
/* Waits until the thread sleeps in its call. */
void sleeper_wait(struct sleeper *sleeper);
void sleeper_start_asleep(struct sleeper *sleeper, void (*run)(void *),
			  void *arg);
/* Whether it sleeps; false: the call has returned, and the thread has ended. */
bool sleeper_sleeps(struct sleeper *sleeper);
/* Sends @sig until the call has returned, and ends the thread.  One signal is
 * not enough for a call that also sleeps where it has to continue: in
 * pthread_create(), for example. */
void sleeper_interrupt(struct sleeper *sleeper, int sig);
void sleeper_end(struct sleeper *sleeper);

/* Thread functions that print their result: recv() of up to 10 octets, send()
 * of that many octets of the pattern, on the descriptor *@fd; poll(). */
#define SLEEPING_SEND_LEN (1 << 20)
struct watched {
	int fd;
	short events;
};

void sleeping_recv(void *fd);
void sleeping_send(void *fd);
void sleeping_poll(void *watched);

/* Number of caught signals of each kind. */
extern atomic_int caught[65];
void catch_signal(int number, int flags);
/* Counts SIGUSR1 from now on, and blocks it. Return: the set with it. */
sigset_t block_usr1(void);

#endif
