/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Sockets that other processes get: which become relays, when, and the result
 * if a process or a descriptor is missing. */
#include "child.h"
#include "descriptors.h"
#include "test.h"
#include "until.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sock/enter/enter.h"
#include "sock/start/ask.h"
#include "sock/start/connect.h"
#include "sock/start/start.h"
#include "sock/show/epoll.h"
#include "sock/listen/listen.h"
#include "sock/share/relay.h"
#include "sock/share/relay-name.h"
#include "sock/share/share.h"

#include "fake-sock.h"
#include "sock-fixture.h"
#include "threads.h"

/* ---- the rest of the layer ---- */

/* Counted over the parent and its children. */
struct counts {
	_Atomic int entered;
	_Atomic int code; /* of a child that nobody waits for */
};

static struct counts *counts;

static int enter_ret;
/* The relay has another pair than the child. */
static bool is_other;

void sdp_relay_cover(struct sdp_sock *sock, int fd)
{
	sdp_sock_cover(sock, fd);
	close(fd);
}

static void renew(struct sdp_sock *sock)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ||
	    write(pair[1], "other", 5) != 5)
		abort();
	sdp_relay_cover(sock, pair[0]);
	sock->relay.is_renewed = true;
}

int sdp_relay_enter(struct sdp_sock *sock)
{
	sock->relay.is_on = enter_ret == 0;
	if (is_other)
		renew(sock);
	atomic_fetch_add(&counts->entered, 1);
	return enter_ret;
}

static int begun_cnt;

enum sdp_sock_state sdp_start(struct sdp_sock *sock, int fd,
			      enum sdp_start_why why)
{
	assert_int_equal(why, SDP_START_WRITE);
	if (sdp_sock_state(sock) == SDP_SOCK_PENDING) {
		begun_cnt++;
		sdp_sock_become(sock, SDP_SOCK_STARTING);
	}
	return sdp_sock_state(sock);
}

static enum sdp_sock_state answer;

void sdp_ask_settle(struct sdp_sock *sock)
{
	assert_true(sdp_sock_is_asking(sock));
	sdp_sock_asking_put(sock, false);
	sdp_sock_become(sock, answer);
}

/* ---- fixture: two sockets over SDP, and a plain one ---- */

enum { USED, OTHER, PLAIN, SOCK_CNT };

static int fds[SOCK_CNT], peers[SOCK_CNT];
static struct sdp_sock *socks[SOCK_CNT];
static int begin_fd_cnt; /* when the first case begins */

static int begin(void **state)
{
	memset(counts, 0, sizeof(*counts));
	fake_reset();
	enter_ret = begun_cnt = 0;
	is_other = false;
	for (int i = 0; i < SOCK_CNT; i++) {
		int pair[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC,
					    0, pair),
				 0);
		fds[i] = pair[0];
		peers[i] = pair[1];
		socks[i] = sdp_sock_add(fds[i], AF_INET, close_nothing,
					end_nothing);
		assert_non_null(socks[i]);
		if (i != PLAIN)
			sdp_sock_become(socks[i], SDP_SOCK_STREAM);
	}
	atomic_store(&sdp_begun, true);
	if (!begin_fd_cnt)
		begin_fd_cnt = test_fd_cnt();
	return 0;
}

static int end(void **state)
{
	/* They end when no child is left. */
	threads_wait();
	for (int i = 0; i < SOCK_CNT; i++) {
		struct sdp_sock *sock = sdp_sock_get(fds[i]);

		if (sock)
			sdp_sock_put(sock);
		program_close(fds[i]);
		close(peers[i]);
	}
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, begin, end)

static int counts_make(void **state)
{
	counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return counts == MAP_FAILED || sdp_table_start();
}

/* Runs the library's fork handlers, and @run in the child. Return: its exit
 * code. */
static int in_fork(int (*run)(void))
{
	int status;
	pid_t pid;

	sdp_share_fork_prepare();
	pid = fork();
	if (!pid) {
		sdp_table_fork_child();
		sdp_share_fork_child();
		_exit(run());
	}
	sdp_share_fork_parent();
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* ---- cases ---- */

static int child_uses_one(void)
{
	struct sdp_sock *sock = sdp_sock_get(fds[USED]);

	CHECK(sock && sdp_sock_state(sock) == SDP_SOCK_RELAY);
	CHECK(sock->relay.is_on && sock->relay.is_unasked);
	CHECK(!sdp_sock_link(sock) && sock->shadow.lib_fd == -1);
	CHECK(atomic_load(&counts->entered) == 0);
	errno = 77;
	sdp_share_use(sock);
	CHECK(errno == 77);
	/* The parent has made a relay of it before the call continued. */
	CHECK(atomic_load(&counts->entered) == 1);
	CHECK(!sock->relay.is_unasked);
	sdp_share_use(sock);
	CHECK(atomic_load(&counts->entered) == 1);
	CHECK(sdp_sock_state(socks[PLAIN]) == SDP_SOCK_TCP);
	CHECK(!socks[PLAIN]->relay.is_unasked);
	CHECK(fake.sdp_listen_fork_child.cnt == SOCK_CNT);
	return 0;
}

FILE_CASE(a_child_asks_for_what_it_uses)
{
	assert_int_equal(in_fork(child_uses_one), 0);
	assert_int_equal(counts->entered, 1);
	assert_true(socks[USED]->relay.is_on);
	assert_false(socks[OTHER]->relay.is_on);
	assert_true(socks[OTHER]->is_shared);
	assert_false(socks[PLAIN]->is_shared);
	assert_int_equal(fake.sdp_listen_fork.cnt, SOCK_CNT);
}

static int child_uses_all(void)
{
	sdp_share_use_all();
	CHECK(atomic_load(&counts->entered) == 2);
	CHECK(!socks[USED]->relay.is_unasked &&
	      !socks[OTHER]->relay.is_unasked);
	sdp_share_use_all();
	CHECK(atomic_load(&counts->entered) == 2);
	return 0;
}

FILE_CASE(using_all_enters_every_socket)
{
	assert_int_equal(in_fork(child_uses_all), 0);
	assert_int_equal(counts->entered, 2);
}

static int child_gets_another_pair(void)
{
	char octets[6] = "";

	sdp_share_use(socks[USED]);
	CHECK(!socks[USED]->relay.is_unasked);
	CHECK(recv(fds[USED], octets, 5, 0) == 5);
	CHECK(strcmp(octets, "other") == 0);
	CHECK(fcntl(fds[USED], F_GETFD) == FD_CLOEXEC);
	return 0;
}

FILE_CASE(a_child_gets_the_pair_of_the_relay)
{
	is_other = true;
	assert_int_equal(in_fork(child_gets_another_pair), 0);
	assert_int_equal(counts->entered, 1);
}

static int child_sees_a_reset(void)
{
	char octet;

	sdp_share_use(socks[USED]);
	CHECK(!socks[USED]->relay.is_unasked);
	CHECK(recv(fds[USED], &octet, 1, 0) == -1 && errno == ECONNRESET);
	CHECK(send(fds[USED], "x", 1, MSG_NOSIGNAL) == -1);
	CHECK(fcntl(fds[USED], F_GETFD) == FD_CLOEXEC);
	return 0;
}

/* A parent that cannot start threads has no relay: the child must not wait for
 * data, and the parent's connection continues. */
FILE_CASE(without_a_relay_the_child_sees_a_reset)
{
	enter_ret = -EAGAIN;
	assert_int_equal(in_fork(child_sees_a_reset), 0);
	assert_true(counts->entered > 1);
	assert_false(socks[USED]->relay.is_on);
	assert_int_equal(send(fds[USED], "x", 1, MSG_NOSIGNAL), 1);
}

/* There is no parent to ask, and no relay could be made before. */
FILE_CASE(a_child_that_cannot_ask_sees_a_reset)
{
	struct rlimit old;
	int status;
	pid_t pid;

	enter_ret = -EAGAIN;
	old = test_fd_leave(1);
	sdp_share_fork_prepare();
	test_fd_restore(old);
	pid = fork();
	if (!pid) {
		sdp_table_fork_child();
		sdp_share_fork_child();
		_exit(child_sees_a_reset());
	}
	sdp_share_fork_parent();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* What an executed program would inherit, and nothing else. */
static int child_executes(void)
{
	CHECK(fcntl(fds[USED], F_SETFD, 0) == 0);
	sdp_share_exec();
	CHECK(atomic_load(&counts->entered) == 1);
	CHECK(!socks[USED]->relay.is_unasked && socks[OTHER]->relay.is_unasked);
	return 0;
}

FILE_CASE(a_program_gets_what_it_inherits)
{
	assert_int_equal(in_fork(child_executes), 0);
	/* A program beside this one: relays in this process. */
	memset(counts, 0, sizeof(*counts));
	socks[USED]->relay.is_on = socks[OTHER]->relay.is_on = false;
	assert_int_equal(fcntl(fds[OTHER], F_SETFD, 0), 0);
	sdp_share_spawn();
	assert_int_equal(counts->entered, 1);
	assert_true(socks[OTHER]->relay.is_on && !socks[USED]->relay.is_on);
}

static int child_without_parent(void)
{
	char octets[6] = "";

	/* The parent's end is closed, so there is no answer. */
	sdp_share_use(socks[USED]);
	CHECK(!socks[USED]->relay.is_unasked);
	CHECK(atomic_load(&counts->entered) == 0);
	CHECK(recv(fds[USED], octets, 1, 0) == -1 && errno == ECONNRESET);
	/* What a relay has given is there. */
	sdp_share_use(socks[OTHER]);
	CHECK(recv(fds[OTHER], octets, 5, 0) == 5);
	CHECK(strcmp(octets, "relay") == 0);
	return 0;
}

static int parent_that_ends(void)
{
	static const union sdp_addr name = { .sa.sa_family = AF_INET };
	int ways[2], code = 1;
	pid_t pid;

	CHECK(pipe(ways) == 0);
	CHECK(write(peers[OTHER], "relay", 5) == 5);
	sdp_relay_name_put(peers[OTHER], &name, &name);
	sdp_share_fork_prepare();
	pid = fork();
	if (!pid) {
		char octet;

		close(ways[1]);
		sdp_table_fork_child();
		sdp_share_fork_child();
		/* Until the parent has ended. */
		CHECK(read(ways[0], &octet, 1) == 0);
		code = child_without_parent();
		atomic_store(&counts->code, code ? code : -1);
		_exit(code);
	}
	return 0; /* and _exit() */
}

FILE_CASE(a_parent_that_has_ended_is_not_waited_for)
{
	int done[2], status;
	char octet;
	pid_t pid;

	assert_int_equal(pipe(done), 0);
	/* Shares nothing yet. Every process that it starts has the pipe's
	 * end. */
	pid = fork();
	if (!pid) {
		sdp_table_fork_child();
		_exit(parent_that_ends());
	}
	close(done[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(read(done[0], &octet, 1), 0);
	assert_int_equal(counts->code, -1);
	close(done[0]);
}

/* The child could not ask, so these are relays from the beginning. Runs first:
 * no child of another case may be left. And TSan allows no thread in the second
 * process. */
FIRST_CASE_WITH(without_descriptors_all_become_relays_at_once, begin, end)
{
	int before = test_fd_cnt();
	struct rlimit old;

	old = test_fd_leave(1); /* two are needed */
	sdp_share_fork_prepare();
	test_fd_restore(old);
	assert_true(socks[USED]->relay.is_on && socks[OTHER]->relay.is_on);
	sdp_share_fork_parent();
	assert_int_equal(test_fd_cnt(), before);
	/* No child exists for which a last number would be kept. */
	socks[USED]->relay.is_on = false;
	counts->entered = 0;
	sdp_share_close(fds[USED]);
	assert_int_equal(counts->entered, 0);
}

static int child_waits(void)
{
	char octet;

	/* Waits until the parent has closed its numbers. */
	return read(fds[PLAIN], &octet, 1) != 1;
}

FILE_CASE(the_last_number_of_a_shared_socket_leaves_a_relay)
{
	int second = dup(fds[USED]), status;
	pid_t pid;

	assert_int_equal(sdp_sock_add_fd(socks[USED], second), 0);
	sdp_share_close(fds[OTHER]); /* not shared */
	sdp_share_fork_prepare();
	pid = fork();
	if (!pid)
		_exit(child_waits());
	sdp_share_fork_parent();
	assert_int_equal(counts->entered, 0);
	sdp_share_close(fds[USED]); /* there is a second number */
	sdp_share_close(fds[PLAIN]);
	sdp_share_close(499);
	assert_int_equal(counts->entered, 0);
	sdp_share_close(fds[OTHER]);
	assert_int_equal(counts->entered, 1);
	assert_true(socks[OTHER]->relay.is_on);
	sdp_share_close(fds[OTHER]); /* it is a relay */
	assert_int_equal(counts->entered, 1);
	program_close(second);
	sdp_share_close(fds[USED]);
	assert_int_equal(counts->entered, 2);
	assert_int_equal(write(peers[PLAIN], "x", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

FILE_CASE(a_descriptor_in_a_message_becomes_a_relay)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
	struct msghdr msg = { .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *part = CMSG_FIRSTHDR(&msg);

	memset(control, 0, sizeof(control));
	part->cmsg_level = SOL_SOCKET;
	part->cmsg_type = SCM_RIGHTS;
	part->cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(part), (int[]){ 0, fds[OTHER] }, 2 * sizeof(int));
	sdp_share_message(&msg);
	assert_int_equal(counts->entered, 1);
	assert_true(socks[OTHER]->relay.is_on && !socks[USED]->relay.is_on);
}

/* Otherwise the child would inherit half of a query to the Port Mapper. */
FILE_CASE(what_stdio_may_use_becomes_a_relay)
{
	static const struct {
		const char *name;
		enum sdp_sock_state state;
		bool is_begun;
	} rows[] = {
		{ "a stream", SDP_SOCK_STREAM, false },
		{ "starting", SDP_SOCK_STARTING, false },
		{ "not begun", SDP_SOCK_PENDING, true },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		sdp_sock_become(socks[USED], rows[i].state);
		atomic_store(&counts->entered, 0);
		begun_cnt = 0;
		errno = 77;
		sdp_share_stdio(fds[USED]);
		assert_row(rows[i].name, errno == 77);
		assert_row(rows[i].name, begun_cnt == rows[i].is_begun);
		assert_row(rows[i].name, atomic_load(&counts->entered) == 1);
	}
	sdp_share_stdio(peers[USED]);
	sdp_share_stdio(-1);
	assert_int_equal(atomic_load(&counts->entered), 1);
}

FILE_CASE(standard_streams_that_are_inherited_become_relays)
{
	int input = dup(0);

	sdp_share_inherited();
	assert_int_equal(atomic_load(&counts->entered), 0);
	assert_int_equal(dup2(fds[USED], 0), 0);
	assert_int_equal(sdp_sock_add_fd(socks[USED], 0), 0);
	sdp_share_inherited();
	assert_int_equal(atomic_load(&counts->entered), 1);
	program_close(0);
	assert_int_equal(dup2(input, 0), 0);
	close(input);
}

/* The table is the parent's. */
static int vfork_child_uses_stdio(void)
{
	sdp_share_stdio(fds[USED]);
	return atomic_load(&counts->entered);
}

FILE_CASE(a_vfork_child_changes_nothing)
{
	assert_int_equal(in_child(vfork_child_uses_stdio), 0);
}

FILE_CASE(a_query_ends_before_a_fork)
{
	static const enum sdp_sock_state answers[] = { SDP_SOCK_TCP,
						       SDP_SOCK_STREAM };

	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		if (i > 0)
			begin(state);
		answer = answers[i];
		sdp_sock_become(socks[USED], SDP_SOCK_STARTING);
		sdp_sock_asking_put(socks[USED], true);
		sdp_share_fork_prepare();
		assert_false(sdp_sock_is_asking(socks[USED]));
		assert_false(socks[USED]->relay.is_on);
		assert_int_equal(socks[USED]->is_shared,
				 answer == SDP_SOCK_STREAM);
		assert_true(socks[OTHER]->is_shared);
		sdp_share_fork_parent();
		if (i + 1 < ARRAY_LEN(answers))
			end(state);
	}
}

ALL_CASES_WITH(counts_make, NULL);
