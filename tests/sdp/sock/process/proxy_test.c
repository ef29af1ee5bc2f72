/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A process that relays a socket for code outside the library: what it
 * inherits, what the program notices, and the fallback without it. */
#include "child.h"
#include "deny.h"
#include "descriptors.h"
#include "loopback.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sock/enter/enter.h"
#include "sock/start/connect.h"
#include "sock/io/fd.h"
#include "sock/base/option.h"
#include "sock/process/proxy.h"
#include "sock/share/relay.h"
#include "sock/share/share.h"
#include "sock/start/start.h"
#include "verbs/sdp-link.h"

#include "sock-fixture.h"

/* Above all numbers of the program and of the library. */
#define NUMBER_MAX 1024

/* ---- the rest of the layer: in the program, and in the proxy ---- */

/* What the proxy has recorded for the program. An assertion must not fail in
 * the proxy, because it would continue with the next case there. */
struct seen {
	pid_t pid;
	char name[16];
	bool is_leader; /* of a session */
	bool was_apart;
	int number_cnt;	   /* in addition to the library's own */
	bool has_no_stdio; /* they are /dev/null */
	bool is_drained;
	uint64_t drain_ns;
};
static struct seen *seen;

enum fault { NONE, NO_DESCRIPTOR, NO_PROCESS, NO_START, NO_RELAY };

static enum fault fault;
static pid_t program;
static bool is_apart, has_own_child;
static int settle_cnt, start_cnt, enter_cnt, ask_cnt, end_cnt;
static int options_of, elsewhere_of;

static struct sdp_sock *sock;
static int fd, peer;
static int life[2]; /* EOF: the proxy has ended */

static bool is_proxy(void)
{
	return getpid() != program;
}

static int number_cnt(void)
{
	int cnt = 0;

	for (int i = 0; i < NUMBER_MAX; i++)
		cnt += fcntl(i, F_GETFD) >= 0 &&
		       sdp_fd_kind(i) != SDP_FD_PRIVATE;
	return cnt;
}

static void proxy_look(void)
{
	int null = open("/dev/null", O_RDWR);

	seen->pid = getpid();
	prctl(PR_GET_NAME, seen->name);
	seen->is_leader = getsid(0) == getpid();
	seen->was_apart = is_apart;
	seen->has_no_stdio = true;
	for (int i = 0; i <= SDP_STDIO_MAX; i++)
		seen->has_no_stdio &= test_fd_is_same(i, null);
	close(null);
	seen->number_cnt = number_cnt();
}

/* Makes a pair instead of the connection. */
enum sdp_sock_state sdp_start(struct sdp_sock *of, int of_fd,
			      enum sdp_start_why why)
{
	int pair[2];

	start_cnt += of == sock && sdp_sock_has_fd(of, of_fd) &&
		     why == SDP_START_WRITE;
	if (!is_proxy()) {
		sdp_sock_become(of, SDP_SOCK_STREAM);
		return SDP_SOCK_STREAM;
	}
	proxy_look();
	if (fault == NO_START ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		sdp_sock_become(of, SDP_SOCK_TCP);
		return SDP_SOCK_TCP;
	}
	of->shadow.lib_fd = sdp_private_add(pair[1]);
	sdp_sock_cover(of, pair[0]);
	close(pair[0]);
	sdp_sock_become(of, SDP_SOCK_STREAM);
	return SDP_SOCK_STREAM;
}

void sdp_enter_never(struct sdp_sock *of)
{
	(void)of;
}

int sdp_relay_enter(struct sdp_sock *of)
{
	(void)of;
	enter_cnt++;
	return is_proxy() && fault == NO_RELAY ? -ENOMEM : 0;
}

/* Copies the program's octets back, to their end. */
void sdp_relay_wait(struct sdp_sock *of)
{
	char octet;

	while (recv(of->shadow.lib_fd, &octet, 1, 0) == 1)
		(void)send(of->shadow.lib_fd, &octet, 1, MSG_NOSIGNAL);
}

int sdp_verbs_drain(uint64_t deadline)
{
	seen->is_drained = true;
	seen->drain_ns = deadline - sdp_now_ns();
	return 0;
}

int sdp_fd_close(int number)
{
	program_close(number);
	return 0;
}

int sdp_fd_close_range(unsigned int first, unsigned int last, int flags)
{
	for (unsigned int i = first; i <= last && i < NUMBER_MAX; i++)
		if (!flags && sdp_fd_kind((int)i) != SDP_FD_PRIVATE)
			program_close((int)i);
	return 0;
}

void sdp_connect_settle(struct sdp_sock *of, int of_fd)
{
	assert_ptr_equal(of, sock);
	assert_true(sdp_sock_has_fd(of, of_fd));
	settle_cnt++;
	if (sdp_sock_state(of) == SDP_SOCK_CONNECTING)
		sdp_sock_become(of, SDP_SOCK_PENDING);
}

void sdp_options_take(struct sdp_sock *of, int of_fd)
{
	assert_ptr_equal(of, sock);
	options_of = of_fd;
}

void sdp_start_elsewhere(struct sdp_sock *of, int of_fd, int program_end)
{
	assert_ptr_equal(of, sock);
	assert_true(fcntl(program_end, F_GETFD) & FD_CLOEXEC);
	elsewhere_of = of_fd;
	sdp_sock_cover(of, program_end);
	sdp_sock_become(of, SDP_SOCK_RELAY);
}

void sdp_share_ask(struct sdp_sock *of)
{
	assert_ptr_equal(of, sock);
	atomic_store(&of->relay.is_unasked, false);
	ask_cnt++;
}

/* A child of the program, which ends while the library forks. */
static void own_child(void)
{
	pid_t pid = fork();
	siginfo_t info;

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

void sdp_share_fork_apart(bool is)
{
	is_apart = is;
	if (is && has_own_child)
		own_child();
}

/* ---- fixture: a connection that SDP has not started on ---- */

static bool is_vfork; /* the child shares the parent's memory */

static void on_fork_child(void)
{
	if (!is_vfork)
		sdp_table_fork_child();
}

static void on_end(struct sdp_sock *of)
{
	(void)of;
	end_cnt++;
}

static int begin_all(void **state)
{
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return seen == MAP_FAILED ||
	       pthread_atfork(NULL, NULL, on_fork_child) || table_start(state);
}

static int begin(void **state)
{
	int pair[2];

	memset(seen, 0, sizeof(*seen));
	fault = NONE;
	program = getpid();
	is_apart = has_own_child = is_vfork = false;
	settle_cnt = start_cnt = enter_cnt = ask_cnt = end_cnt = 0;
	options_of = elsewhere_of = -1;
	assert_int_equal(pipe2(life, O_CLOEXEC), 0);
	life[1] = sdp_private_add(life[1]);
	assert_true(life[1] >= 0);
	test_tcp_pair(pair);
	fd = pair[0];
	peer = pair[1];
	sock = sock_add(fd, on_end);
	sdp_sock_become(sock, SDP_SOCK_PENDING);
	return 0;
}

static int end(void **state)
{
	char octet;

	sdp_sock_become(sock, SDP_SOCK_TCP);
	program_close(fd);
	close(peer);
	sdp_private_close(life[1]);
	assert_int_equal(read(life[0], &octet, 1), 0);
	close(life[0]);
	sdp_sock_drop(sock);
	return 0;
}

/* The program's octets come back from the other process. */
static void assert_is_relayed(void)
{
	assert_int_equal(sdp_sock_state(sock), SDP_SOCK_RELAY);
	assert_int_equal(send(fd, "octets", 6, 0), 6);
	assert_octets(fd, "octets");
}

/* ---- cases ---- */

static void a_proxy_relays_pending_octets(void **state)
{
	int before = test_fd_cnt();
	char octet;

	errno = 77;
	sdp_proxy_stdio(fd);
	assert_int_equal(errno, 77);
	assert_is_relayed();
	assert_int_equal(elsewhere_of, fd);
	/* Both have the connection's options, read where it was before. */
	assert_int_equal(options_of, fd);
	assert_int_equal(sock->tcp_fd, -1);
	assert_int_equal(start_cnt, 0);
	assert_int_equal(enter_cnt, 1);
	assert_int_equal(test_fd_cnt(), before);
	assert_false(is_apart || sdp_inside());
	/* The proxy ends with the last number, after pending data. */
	program_close(fd);
	assert_int_equal(end_cnt, 1);
	sdp_private_close(life[1]);
	life[1] = -1;
	assert_int_equal(read(life[0], &octet, 1), 0);
	assert_true(seen->is_drained);
	assert_in_range(seen->drain_ns, 1, 60000000000ull);
	/* The connection ends too: no other process has it. */
	assert_eof(peer);
}

static void the_proxy_keeps_no_other_descriptor(void **state)
{
	int ends[2];
	char octet;

	assert_int_equal(pipe(ends), 0);
	sdp_proxy_stdio(fd);
	assert_is_relayed();
	assert_int_not_equal(seen->pid, program);
	assert_string_equal(seen->name, "usiw-sdp-proxy");
	assert_true(seen->is_leader);
	assert_true(seen->was_apart);
	assert_true(seen->has_no_stdio);
	/* Three of stdio, and the connection. */
	assert_int_equal(seen->number_cnt, SDP_STDIO_MAX + 1 + 1);
	close(ends[1]);
	assert_int_equal(read(ends[0], &octet, 1), 0);
	close(ends[0]);
}

static _Atomic int heard_cnt;

static void on_child(int sig)
{
	(void)sig;
	heard_cnt++;
}

static void sigchld_comes_for_the_programs_children_only(void **state)
{
	static const struct {
		const char *name;
		bool is_pending, has_own_child;
		int heard_cnt;
	} rows[] = {
		{ "none", false, false, 0 },
		{ "a signal that waits", true, false, 1 },
		{ "a child of its own", false, true, 1 },
		{ "both", true, true, 1 },
	};
	struct sigaction old, sa = { .sa_handler = on_child };
	sigset_t child, mask;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigaction(SIGCHLD, &sa, &old);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		begin(state);
		heard_cnt = 0;
		if (rows[i].is_pending) {
			sigprocmask(SIG_BLOCK, &child, NULL);
			kill(getpid(), SIGCHLD);
		}
		has_own_child = rows[i].has_own_child;
		sdp_proxy_stdio(fd);
		assert_is_relayed();
		sigprocmask(SIG_UNBLOCK, &child, &mask);
		assert_row(rows[i].name,
			   sigismember(&mask, SIGCHLD) == rows[i].is_pending);
		assert_row(rows[i].name, heard_cnt == rows[i].heard_cnt);
		/* The proxy is not a child of the program. */
		assert_row(rows[i].name, (waitpid(-1, NULL, WNOHANG) > 0) ==
						 rows[i].has_own_child);
		assert_row(rows[i].name,
			   waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
		end(state);
	}
	sigaction(SIGCHLD, &old, NULL);
}

/* Also if the intermediate child fails. */
static void without_a_proxy_the_program_relays(void **state)
{
	static const struct {
		const char *name;
		enum fault fault;
		bool has_run;
	} rows[] = {
		{ "no descriptor", NO_DESCRIPTOR, false },
		{ "no start", NO_START, true },
		{ "no relay", NO_RELAY, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int before;

		begin(state);
		before = test_fd_cnt();
		fault = rows[i].fault;
		if (fault == NO_DESCRIPTOR) {
			struct rlimit old = test_fd_leave(1);

			sdp_proxy_stdio(fd);
			test_fd_restore(old);
		} else {
			sdp_proxy_stdio(fd);
		}
		assert_row(rows[i].name, !!seen->pid == rows[i].has_run);
		assert_row(rows[i].name, elsewhere_of == -1);
		assert_row(rows[i].name, start_cnt == 1 && enter_cnt == 1);
		assert_row(rows[i].name,
			   sdp_sock_state(sock) == SDP_SOCK_STREAM);
		assert_row(rows[i].name, sock->tcp_fd == -1);
		assert_row(rows[i].name, test_fd_cnt() == before);
		end(state);
	}
}

/* In a child, because its system calls stay changed. */
static int child_without_processes(void)
{
	program = getpid();
	if (!deny_call(SYS_clone, EAGAIN))
		return 77;
	sdp_proxy_stdio(fd);
	return !(start_cnt == 1 && enter_cnt == 1 && elsewhere_of == -1 &&
		 sdp_sock_state(sock) == SDP_SOCK_STREAM && !is_apart);
}

static void without_processes_the_program_relays(void **state)
{
	assert_in_filtered_child(child_without_processes);
}

static void only_what_is_pending_has_a_proxy(void **state)
{
	static const struct {
		const char *name;
		enum sdp_sock_state state;
		bool has_proxy;
	} rows[] = {
		{ "TCP", SDP_SOCK_TCP, false },
		{ "listening", SDP_SOCK_LISTENING, false },
		/* Its result is checked first. */
		{ "connecting", SDP_SOCK_CONNECTING, true },
		{ "starting", SDP_SOCK_STARTING, false },
		{ "a stream", SDP_SOCK_STREAM, false },
		{ "a relay", SDP_SOCK_RELAY, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		begin(state);
		sdp_sock_become(sock, rows[i].state);
		atomic_store(&sock->relay.is_unasked, true);
		sdp_proxy_stdio(fd);
		assert_row(rows[i].name, settle_cnt == 1);
		assert_row(rows[i].name, !!seen->pid == rows[i].has_proxy);
		assert_row(rows[i].name,
			   rows[i].has_proxy ||
				   sdp_sock_state(sock) == rows[i].state);
		assert_row(rows[i].name, enter_cnt == 1 && start_cnt == 0);
		assert_row(rows[i].name, ask_cnt == 1);
		end(state);
	}
}

static void other_numbers_are_left_alone(void **state)
{
	sdp_proxy_stdio(peer);
	sdp_proxy_stdio(-1);
	assert_int_equal(settle_cnt, 0);
	assert_int_equal(enter_cnt, 0);
}

static void inherited_standard_streams_are_relayed(void **state)
{
	int input = dup(0);

	sdp_proxy_inherited();
	assert_int_equal(settle_cnt, 0);
	assert_int_equal(dup2(fd, 0), 0);
	assert_int_equal(sdp_sock_add_fd(sock, 0), 0);
	sdp_proxy_inherited();
	assert_int_equal(settle_cnt, 1);
	assert_int_equal(elsewhere_of, 0);
	assert_is_relayed();
	assert_true(test_fd_is_same(0, fd));
	program_close(0);
	assert_int_equal(dup2(input, 0), 0);
	close(input);
}

static int child_is_stdio(void)
{
	sdp_proxy_stdio(fd);
	return settle_cnt + enter_cnt;
}

static void a_vfork_child_changes_nothing(void **state)
{
	is_vfork = true;
	assert_int_equal(in_child(child_is_stdio), 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		CASE(a_proxy_relays_pending_octets),
		CASE(the_proxy_keeps_no_other_descriptor),
		cmocka_unit_test(sigchld_comes_for_the_programs_children_only),
		cmocka_unit_test(without_a_proxy_the_program_relays),
		CASE(without_processes_the_program_relays),
		cmocka_unit_test(only_what_is_pending_has_a_proxy),
		CASE(other_numbers_are_left_alone),
		CASE(inherited_standard_streams_are_relayed),
		CASE(a_vfork_child_changes_nothing),
	};

	return cmocka_run_group_tests(tests, begin_all, NULL);
}
