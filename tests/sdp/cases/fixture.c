/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Common parts of the cases: connections, waiting, data, processes. */
#include "cases.h"

#include <linux/sockios.h>
#include <sys/syscall.h>
#include <time.h>

int fixture_family = AF_INET;
bool fixture_is_cold;
atomic_int caught[65];

/* ---- waiting ---- */

void nap(void)
{
	struct timespec ms = { .tv_nsec = 1000000 };

	nanosleep(&ms, NULL);
}

void wait_poll(int fd, short events)
{
	struct pollfd look = { .fd = fd, .events = events };

	UNTIL(poll(&look, 1, 0) >= 0 && (look.revents & events) == events);
}

void wait_octets(int fd, int count)
{
	int got = 0;

	UNTIL(ioctl(fd, FIONREAD, &got) == 0 && got >= count);
}

void wait_sent(int fd)
{
	int got = 1;

	UNTIL(ioctl(fd, SIOCOUTQ, &got) == 0 && got == 0);
}

/* The state from a stat file of /proc; 0: no such thread. */
static char state_get(const char *path)
{
	char text[512];
	char *end;
	FILE *f = fopen(path, "re");
	bool is_there = f && fgets(text, sizeof(text), f);

	if (f)
		fclose(f);
	if (!is_there)
		return 0;
	end = strrchr(text, ')');
	NEED(end && end[1] == ' ');
	return end[2];
}

static char state_of(const char *path)
{
	char state = state_get(path);

	NEED(state);
	return state;
}

#define ASLEEP_LOOKS 5

/* Asleep in several checks in a row: a thread that only waits for a processor
 * shows R, one that waits for a lock or memory shows S for a moment. */
static void wait_asleep(const char *path)
{
	for (int looks = 0; looks < ASLEEP_LOOKS; looks++) {
		nap();
		if (state_of(path) != 'S')
			looks = -1;
	}
}

void wait_process_asleep(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	wait_asleep(path);
}

void wait_thread_asleep(pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	wait_asleep(path);
}

/* ---- addresses and connections ---- */

struct address address_loopback(int family)
{
	struct address address = { .len = sizeof(address.in) };

	address.any.sa_family = (sa_family_t)family;
	if (family == AF_INET6) {
		address.in6.sin6_addr = in6addr_loopback;
		address.len = sizeof(address.in6);
	} else {
		address.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	}
	return address;
}

struct address address_of(int fd)
{
	struct address address = { .len = sizeof(address.storage) };

	NEED(getsockname(fd, &address.any, &address.len) == 0);
	return address;
}

struct address address_of_peer(int fd)
{
	struct address address = { .len = sizeof(address.storage) };

	NEED(getpeername(fd, &address.any, &address.len) == 0);
	return address;
}

bool address_is_same(const struct address *a, const struct address *b)
{
	return a->len == b->len && memcmp(&a->any, &b->any, a->len) == 0;
}

const char *address_name(const struct address *address)
{
	static char name[2][96];
	static int turn;
	char host[INET6_ADDRSTRLEN] = "";
	bool is_6 = address->any.sa_family == AF_INET6;
	in_port_t port = is_6 ? address->in6.sin6_port : address->in.sin_port;

	if (address->any.sa_family != AF_INET && !is_6)
		return "of another family";
	inet_ntop(address->any.sa_family,
		  is_6 ? (const void *)&address->in6.sin6_addr
		       : (const void *)&address->in.sin_addr,
		  host, sizeof(host));
	turn = !turn;
	snprintf(name[turn], sizeof(name[turn]), "%s%s%s%s", is_6 ? "[" : "",
		 host, is_6 ? "]" : "", port ? ":port" : "");
	return name[turn];
}

int socket_new(void)
{
	int fd = socket(fixture_family, SOCK_STREAM, 0);

	NEED(fd >= 0);
	return fd;
}

int bound_new(void)
{
	struct address address = address_loopback(fixture_family);
	int fd = socket_new();

	NEED(bind(fd, &address.any, address.len) == 0);
	return fd;
}

int listen_new(int backlog)
{
	int fd = bound_new();

	NEED(listen(fd, backlog) == 0);
	return fd;
}

int dial(const struct address *address)
{
	int fd = socket(address->any.sa_family, SOCK_STREAM, 0);

	NEED(fd >= 0);
	NEED(connect(fd, &address->any, address->len) == 0);
	return fd;
}

int take_connection(int listener)
{
	int fd = accept(listener, NULL, NULL);

	NEED(fd >= 0);
	return fd;
}

struct full_listener full_listener_new(void)
{
	struct full_listener full;

	full.listener = listen_new(0);
	full.address = address_of(full.listener);
	full.waiting = dial(&full.address);
	wait_poll(full.listener, POLLIN);
	return full;
}

struct pair pair_new(void)
{
	int listener = listen_new(1);
	struct address address = address_of(listener);
	struct pair pair;

	pair.client = dial(&address);
	pair.server = take_connection(listener);
	close(listener);
	return pair;
}

struct pair pair_used(void)
{
	struct pair pair = pair_new();
	char octet = 0;

	if (fixture_is_cold)
		return pair;
	send_text(pair.client, "a");
	NEED(recv(pair.server, &octet, 1, 0) == 1 && octet == 'a');
	send_text(pair.server, "b");
	NEED(recv(pair.client, &octet, 1, 0) == 1 && octet == 'b');
	return pair;
}

int reset_new(void)
{
	struct linger at_once = { .l_onoff = 1 };
	struct pair pair = pair_used();

	NEED(setsockopt(pair.client, SOL_SOCKET, SO_LINGER, &at_once,
			sizeof(at_once)) == 0);
	close(pair.client);
	wait_poll(pair.server, POLLERR | POLLHUP);
	return pair.server;
}

/* ---- data ---- */

void send_text(int fd, const char *text)
{
	NEED(send(fd, text, strlen(text), MSG_NOSIGNAL) ==
	     (ssize_t)strlen(text));
}

void pattern_make(void *octets, size_t count, size_t offset)
{
	unsigned char *octet = octets;

	for (size_t i = 0; i < count; i++) {
		size_t at = offset + i;

		octet[i] = (unsigned char)(at * 7 + at / 251 + at / 65521);
	}
}

bool pattern_is_right(const void *octets, size_t count, size_t offset)
{
	const unsigned char *octet = octets;

	for (size_t i = 0; i < count; i++) {
		size_t at = offset + i;

		if (octet[i] != (unsigned char)(at * 7 + at / 251 + at / 65521))
			return false;
	}
	return true;
}

void send_pattern(int fd, size_t count, size_t offset)
{
	unsigned char chunk[65536];

	while (count) {
		size_t part = count < sizeof(chunk) ? count : sizeof(chunk);
		ssize_t sent;

		pattern_make(chunk, part, offset);
		sent = send(fd, chunk, part, MSG_NOSIGNAL);
		NEED(sent > 0);
		offset += (size_t)sent;
		count -= (size_t)sent;
	}
}

void recv_pattern(int fd, size_t count, size_t offset)
{
	unsigned char octets[65536];

	while (count) {
		size_t part = count < sizeof(octets) ? count : sizeof(octets);
		ssize_t got = recv(fd, octets, part, 0);

		NEED(got > 0);
		NEED(pattern_is_right(octets, (size_t)got, offset));
		offset += (size_t)got;
		count -= (size_t)got;
	}
}

size_t recv_pattern_all(int fd, size_t offset)
{
	unsigned char octets[65536];
	size_t count = 0;

	for (;;) {
		ssize_t got = recv(fd, octets, sizeof(octets), 0);

		NEED(got >= 0);
		if (got == 0)
			return count;
		NEED(pattern_is_right(octets, (size_t)got, offset + count));
		count += (size_t)got;
	}
}

/* Whether TCP has octets in transit. When they arrive there is space again. */
static bool is_on_the_way(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	return getsockopt(fd, SOL_TCP, TCP_INFO, &info, &len) == 0 &&
	       info.tcpi_unacked > 0;
}

static bool is_writable(int fd)
{
	struct pollfd look = { .fd = fd, .events = POLLOUT };

	return poll(&look, 1, 0) == 1;
}

/* Number of short sleeps in which nothing more fits. By then everything was
 * sent that the stack still gathered, or had in its own threads on a loaded
 * machine. */
#define FILL_LOOKS 30

void fill_more(int fd, size_t *count)
{
	unsigned char chunk[65536];

	for (int looks = 0; looks < FILL_LOOKS; looks++) {
		ssize_t sent;

		pattern_make(chunk, sizeof(chunk), *count);
		sent = send(fd, chunk, sizeof(chunk),
			    MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent >= 0)
			*count += (size_t)sent;
		else
			NEED(errno == EAGAIN);
		if (sent >= 0 || is_on_the_way(fd) || is_writable(fd))
			looks = -1;
		if (sent < 0)
			nap();
	}
}

size_t fill(int fd)
{
	size_t count = 0;

	fill_more(fd, &count);
	return count;
}

void echo(int fd)
{
	char octets[4096];
	ssize_t got;

	while ((got = recv(fd, octets, sizeof(octets), 0)) > 0) {
		for (ssize_t sent = 0, part; sent < got; sent += part) {
			part = send(fd, octets + sent, (size_t)(got - sent),
				    MSG_NOSIGNAL);
			NEED(part > 0);
		}
	}
	NEED(got == 0);
}

void set_nonblocking(int fd, bool is_on)
{
	int flags = fcntl(fd, F_GETFL);

	NEED(flags >= 0);
	flags = is_on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	NEED(fcntl(fd, F_SETFL, flags) == 0);
}

void set_int(int fd, int level, int name, int value)
{
	NEED(setsockopt(fd, level, name, &value, sizeof(value)) == 0);
}

void set_timeout(int fd, int name, int ms)
{
	struct timeval limit = { .tv_sec = ms / 1000,
				 .tv_usec = ms % 1000 * 1000 };

	NEED(setsockopt(fd, SOL_SOCKET, name, &limit, sizeof(limit)) == 0);
}

/* ---- processes, threads, signals ---- */

pid_t child_start(void (*run)(void *), void *arg)
{
	pid_t pid = fork();

	NEED(pid >= 0);
	if (pid == 0) {
		run(arg);
		exit(0);
	}
	return pid;
}

void child_end(pid_t pid)
{
	int status;

	NEED(waitpid(pid, &status, 0) == pid);
	if (WIFSIGNALED(status))
		say("the child dies of SIG%s", sigabbrev_np(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		say("the child ends with %d", WEXITSTATUS(status));
	NEED(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int child_dial(void (*run)(int fd), pid_t *ret_pid)
{
	int listener = listen_new(1);
	struct address address = address_of(listener);
	pid_t pid = fork();
	int fd;

	NEED(pid >= 0);
	if (pid == 0) {
		close(listener);
		fd = dial(&address);
		run(fd);
		close(fd);
		exit(0);
	}
	fd = take_connection(listener);
	close(listener);
	*ret_pid = pid;
	return fd;
}

int child_accept(void (*run)(int fd), pid_t *ret_pid)
{
	int listener = listen_new(1);
	struct address address = address_of(listener);
	pid_t pid = fork();
	int fd;

	NEED(pid >= 0);
	if (pid == 0) {
		fd = take_connection(listener);
		close(listener);
		run(fd);
		close(fd);
		exit(0);
	}
	close(listener);
	fd = dial(&address);
	*ret_pid = pid;
	return fd;
}

static void *sleeper_main(void *arg)
{
	struct sleeper *sleeper = arg;

	atomic_store_explicit(&sleeper->tid, (int)syscall(SYS_gettid),
			      memory_order_relaxed);
	sleeper->run(sleeper->arg);
	/* release: pairs with sleeper_sleeps() */
	atomic_store_explicit(&sleeper->is_over, true, memory_order_release);
	return NULL;
}

void sleeper_start(struct sleeper *sleeper, void (*run)(void *), void *arg)
{
	sleeper->run = run;
	sleeper->arg = arg;
	atomic_init(&sleeper->tid, 0);
	atomic_init(&sleeper->is_over, false);
	NEED(pthread_create(&sleeper->thread, NULL, sleeper_main, sleeper) ==
	     0);
}

void sleeper_wait(struct sleeper *sleeper)
{
	UNTIL(atomic_load_explicit(&sleeper->tid, memory_order_relaxed));
	wait_thread_asleep(
		atomic_load_explicit(&sleeper->tid, memory_order_relaxed));
}

void sleeper_start_asleep(struct sleeper *sleeper, void (*run)(void *),
			  void *arg)
{
	sleeper_start(sleeper, run, arg);
	sleeper_wait(sleeper);
}

bool sleeper_sleeps(struct sleeper *sleeper)
{
	char path[64];

	UNTIL(atomic_load_explicit(&sleeper->tid, memory_order_relaxed));
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat",
		 atomic_load_explicit(&sleeper->tid, memory_order_relaxed));
	for (int looks = 0; looks < ASLEEP_LOOKS; looks++) {
		nap();
		/* acquire: pairs with the thread's end */
		if (atomic_load_explicit(&sleeper->is_over,
					 memory_order_acquire)) {
			sleeper_end(sleeper);
			return false;
		}
		/* It may end here. The next iteration detects that. */
		if (state_get(path) != 'S')
			looks = -1;
	}
	return true;
}

void sleeper_interrupt(struct sleeper *sleeper, int sig)
{
	while (!atomic_load_explicit(&sleeper->is_over, memory_order_relaxed)) {
		pthread_kill(sleeper->thread, sig);
		nap();
	}
	sleeper_end(sleeper);
}

void sleeper_end(struct sleeper *sleeper)
{
	NEED(pthread_join(sleeper->thread, NULL) == 0);
}

void sleeping_recv(void *fd)
{
	show_recv("the sleeping recv", *(int *)fd, 10, 0);
}

void sleeping_send(void *fd)
{
	char *octets = malloc(SLEEPING_SEND_LEN);

	NEED(octets);
	pattern_make(octets, SLEEPING_SEND_LEN, 0);
	say("the sleeping send is whole: %d",
	    send(*(int *)fd, octets, SLEEPING_SEND_LEN, MSG_NOSIGNAL) ==
		    SLEEPING_SEND_LEN);
	free(octets);
}

void sleeping_poll(void *watched)
{
	const struct watched *w = watched;
	struct pollfd look = { .fd = w->fd, .events = w->events };
	int count = poll(&look, 1, -1);

	if (count < 0)
		say("the sleeping poll: %s", error_name(errno));
	else
		say("the sleeping poll: %s",
		    events_name((unsigned)look.revents));
}

static void count_signal(int number)
{
	atomic_fetch_add_explicit(&caught[number], 1, memory_order_relaxed);
}

void catch_signal(int number, int flags)
{
	struct sigaction action = { .sa_handler = count_signal,
				    .sa_flags = flags };

	NEED(sigaction(number, &action, NULL) == 0);
}

sigset_t block_usr1(void)
{
	sigset_t usr1;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	catch_signal(SIGUSR1, 0);
	NEED(sigprocmask(SIG_BLOCK, &usr1, NULL) == 0);
	return usr1;
}
