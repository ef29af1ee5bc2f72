/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Numbers and sockets: their references, and when they end. */
#include "child.h"
#include "descriptors.h"
#include "test.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sock/base/table.h"

#include "sock-fixture.h"

static int close_cnt, end_cnt;

static void count_close(struct util_file *file)
{
	(void)file;
	close_cnt++;
}

static void count_end(struct sdp_sock *sock)
{
	(void)sock;
	end_cnt++;
}

/* Numbers for entries: unrelated files. */
static int fds[3];
static struct sdp_sock *sock;

static int begin(void **state)
{
	close_cnt = end_cnt = 0;
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	sock = sdp_sock_add(fds[0], AF_INET, count_close, count_end);
	return !sock;
}

static void number_close(int fd)
{
	util_fdtab_uninstall(atomic_load(&sdp_fds), fd, NULL);
}

static int end(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		number_close(fds[i]);
		close(fds[i]);
	}
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, begin, end)

/* The rules leave the program to TCP. */
FILE_CASE(nothing_is_taken_without_a_table)
{
	struct util_fdtab *tab = atomic_exchange(&sdp_fds, NULL);

	assert_null(sdp_sock_add(fds[1], AF_INET, count_close, count_end));
	assert_int_equal(sdp_fd_kind(fds[0]), SDP_FD_NONE);
	assert_null(sdp_sock_get(fds[0]));
	atomic_store(&sdp_fds, tab);
	assert_int_equal(sdp_fd_kind(fds[0]), SDP_FD_SOCK);
	assert_int_equal(sdp_fd_kind(fds[1]), SDP_FD_NONE);
}

FILE_CASE(a_socket_is_found_by_its_number)
{
	struct sdp_sock *found = sdp_sock_get(fds[0]);

	assert_ptr_equal(found, sock);
	sdp_sock_put(found);
	assert_int_equal(sdp_fd_kind(fds[0]), SDP_FD_SOCK);
	assert_int_equal(sdp_fd_kind(fds[1]), SDP_FD_NONE);
	assert_null(sdp_sock_get(fds[1]));
	assert_null(sdp_sock_get(-1));
	assert_true(sdp_sock_has_fd(sock, fds[0]));
	assert_false(sdp_sock_has_fd(sock, fds[1]));
	assert_false(sdp_sock_has_fd(sock, -1));
}

FILE_CASE(a_new_socket_is_tcps)
{
	assert_int_equal(sdp_sock_state(sock), SDP_SOCK_TCP);
	assert_int_equal(sock->tcp_fd, -1);
	assert_int_equal(sock->listening.twin_fd, -1);
	assert_int_equal(sock->shadow.lib_fd, -1);
	assert_int_equal(sock->options.linger_s, -1);
	assert_int_equal(sock->options.rcvlowat, 1);
}

FILE_CASE(closes_with_the_last_number)
{
	assert_int_equal(sdp_sock_add_fd(sock, fds[1]), 0);
	number_close(fds[0]);
	assert_int_equal(close_cnt, 0);
	assert_true(sdp_sock_has_fd(sock, fds[1]));
	number_close(fds[1]);
	assert_int_equal(close_cnt, 1);
	assert_int_equal(end_cnt, 1);
}

/* A call in progress keeps the open file, as in the kernel. */
FILE_CASE(ends_with_the_last_call)
{
	struct sdp_sock *inside = sdp_sock_get(fds[0]);

	number_close(fds[0]);
	assert_int_equal(close_cnt, 1);
	assert_int_equal(end_cnt, 0);
	sdp_sock_put(inside);
	assert_int_equal(end_cnt, 1);
}

/* A thread of the library keeps only the memory. (ASan detects a read after
 * free().) */
FILE_CASE(a_reference_keeps_only_the_memory)
{
	sdp_sock_hold(sock);
	number_close(fds[0]);
	assert_int_equal(end_cnt, 1);
	assert_int_equal(sock->family, AF_INET);
	sdp_sock_drop(sock);
}

FILE_CASE(a_number_that_stood_for_another_is_its_own)
{
	struct sdp_sock *other =
		sdp_sock_add(fds[0], AF_INET6, count_close, count_end);

	assert_non_null(other);
	assert_int_equal(close_cnt, 1);
	assert_int_equal(end_cnt, 1);
	assert_true(sdp_sock_has_fd(other, fds[0]));
}

struct seen {
	int fds[4];
	size_t cnt;
};

static void see(int fd, void *arg)
{
	struct seen *seen = arg;

	if (seen->cnt < ARRAY_LEN(seen->fds))
		seen->fds[seen->cnt] = fd;
	seen->cnt++;
}

static struct sdp_sock *seen_socks[4];
static size_t seen_cnt;

static void sock_see(struct sdp_sock *each)
{
	if (seen_cnt < ARRAY_LEN(seen_socks))
		seen_socks[seen_cnt] = each;
	seen_cnt++;
}

FILE_CASE(each_number_is_gone_through)
{
	struct sdp_sock *other =
		sdp_sock_add(fds[1], AF_INET, count_close, count_end);
	struct seen own = { .cnt = 0 };

	assert_int_equal(sdp_sock_add_fd(sock, fds[2]), 0);
	sdp_sock_each_fd(sock, see, &own);
	assert_int_equal(own.cnt, 2);
	assert_int_equal(own.fds[0], fds[0]);
	assert_int_equal(own.fds[1], fds[2]);
	seen_cnt = 0;
	sdp_table_each_sock(sock_see);
	assert_int_equal(seen_cnt, 3);
	assert_ptr_equal(seen_socks[0], sock);
	assert_ptr_equal(seen_socks[1], other);
}

/* As if one thread closes it while another forks. */
static void close_seen(struct sdp_sock *each)
{
	number_close(fds[0]);
	assert_int_equal(close_cnt, 1);
	assert_int_equal(end_cnt, 0);
	assert_int_equal(each->family, AF_INET);
}

FILE_CASE(a_walk_keeps_what_is_closed_meanwhile)
{
	sdp_table_each_sock(close_seen);
	assert_int_equal(end_cnt, 1);
}

/* ---- replacing the file of the numbers ---- */

FILE_CASE(each_number_gets_another_file)
{
	int from = memfd_create("table_test", MFD_CLOEXEC);

	assert_int_equal(sdp_sock_add_fd(sock, fds[1]), 0);
	assert_int_equal(fcntl(fds[1], F_SETFD, 0), 0);
	sdp_sock_cover(sock, from);
	for (int i = 0; i < 3; i++)
		assert_int_equal(test_fd_is_same(fds[i], from), i < 2);
	assert_int_equal(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(fds[1], F_GETFD), 0);
	close(from);
}

static _Atomic bool has_covered;

static void *cover(void *arg)
{
	sdp_sock_cover(sock, *(int *)arg);
	atomic_store(&has_covered, true);
	return NULL;
}

/* A number that another thread is closing may belong to another file at once.
 * That file must not be replaced. */
FILE_CASE(a_number_that_is_being_closed_gets_no_file)
{
	int from = memfd_create("table_test", MFD_CLOEXEC), reused;
	pthread_t thread;

	assert_int_equal(sdp_sock_add_fd(sock, fds[1]), 0);
	/* Like sdp_fd_close(), which takes the shadow's lock in between. */
	util_lock(&sock->shadow.lock);
	assert_int_equal(pthread_create(&thread, NULL, cover, &from), 0);
	while (atomic_load(&sock->shadow.lock.word) != 2 &&
	       !atomic_load(&has_covered))
		sched_yield();
	assert_false(atomic_load(&has_covered));
	number_close(fds[0]);
	util_unlock(&sock->shadow.lock);
	close(fds[0]);
	reused = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_int_equal(reused, fds[0]);
	pthread_join(thread, NULL);
	assert_false(test_fd_is_same(reused, from));
	assert_true(test_fd_is_same(fds[1], from));
	close(from);
}

/* The count that spares epoll_wait() a check. */
FILE_CASE(counts_what_waits_for_its_start)
{
	static const struct {
		enum sdp_sock_state state;
		int cnt;
		bool has_begun;
	} steps[] = {
		{ SDP_SOCK_PENDING, 1, false }, { SDP_SOCK_TCP, 0, false },
		{ SDP_SOCK_PENDING, 1, false }, { SDP_SOCK_STARTING, 0, true },
		{ SDP_SOCK_STREAM, 0, true },
	};

	atomic_store(&sdp_begun, false);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		sdp_sock_become(sock, steps[i].state);
		assert_int_equal(sdp_sock_state(sock), steps[i].state);
		assert_int_equal(atomic_load(&sdp_pending_cnt), steps[i].cnt);
		assert_int_equal(atomic_load(&sdp_begun), steps[i].has_begun);
	}
}

/* ---- descriptors of the library's own ---- */

CASE(own_descriptors_have_high_numbers)
{
	int fd = open("/dev/null", O_RDONLY), moved = sdp_private_add(fd);

	assert_true(moved >= 512);
	assert_int_equal(sdp_fd_kind(moved), SDP_FD_PRIVATE);
	assert_true(fcntl(moved, F_GETFD) & FD_CLOEXEC);
	/* The first number is free for the program again. */
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	sdp_private_close(moved);
	assert_int_equal(sdp_fd_kind(moved), SDP_FD_NONE);
	assert_int_equal(fcntl(moved, F_GETFD), -1);
	sdp_private_close(-1);
	/* A copy leaves the first one. */
	fd = open("/dev/null", O_RDONLY);
	moved = sdp_private_dup(fd);
	assert_true(moved >= 512);
	assert_int_equal(sdp_fd_kind(moved), SDP_FD_PRIVATE);
	assert_int_equal(close(fd), 0);
	sdp_private_close(moved);
	assert_int_equal(sdp_private_dup(-1), -EBADF);
}

CASE(own_descriptors_stay_below_the_limit)
{
	struct rlimit old, small;
	int fd, moved;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	small = old;
	small.rlim_cur = 64;
	fd = open("/dev/null", O_RDONLY);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &small), 0);
	moved = sdp_private_add(fd);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_in_range(moved, 16, 63);
	sdp_private_close(moved);
	assert_int_equal(sdp_private_add(-1), -EBADF);
}

CASE(what_cannot_be_moved_is_closed)
{
	/* The lowest free number. */
	int fd = open("/dev/null", O_RDONLY);
	struct rlimit old, full;

	errno = EMFILE;
	assert_int_equal(sdp_private_take(-1), -EMFILE);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	full = old;
	full.rlim_cur = (rlim_t)fd + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &full), 0);
	assert_int_equal(sdp_private_take(fd), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	fd = sdp_private_take(open("/dev/null", O_RDONLY));
	assert_int_equal(sdp_fd_kind(fd), SDP_FD_PRIVATE);
	sdp_private_close(fd);
}

/* ---- callers ---- */

static void *inside_of_thread(void *arg)
{
	*(bool *)arg = sdp_inside();
	return NULL;
}

CASE(the_mark_belongs_to_the_thread)
{
	bool outer = sdp_inside_enter(), inner = sdp_inside_enter();
	bool of_other = true;
	pthread_t thread;

	assert_false(outer);
	assert_true(inner);
	assert_int_equal(
		pthread_create(&thread, NULL, inside_of_thread, &of_other), 0);
	pthread_join(thread, NULL);
	assert_false(of_other);
	sdp_inside_leave(inner);
	assert_true(sdp_inside());
	sdp_inside_leave(outer);
	assert_false(sdp_inside());
}

/* Code of libibverbs. */
static const void *verbs_code(void)
{
	void *lib = dlopen("libibverbs.so.1", RTLD_NOW);

	assert_non_null(lib);
	return dlsym(lib, "ibv_get_device_list");
}

CASE(a_caller_is_known_by_its_object_file)
{
	assert_false(sdp_caller_is_rnic(&close_cnt));
	assert_false(sdp_caller_is_rnic((void *)(uintptr_t)&abort));
	assert_false(sdp_caller_is_rnic(NULL));
	assert_true(sdp_caller_is_rnic(verbs_code()));
}

/* 0: a child is the owner after it has registered. */
static int child_check(void)
{
	if (sdp_is_owner())
		return 1;
	sdp_table_fork_child();
	return sdp_is_owner() ? 0 : 2;
}

CASE(a_child_is_not_the_owner)
{
	assert_true(sdp_is_owner());
	assert_int_equal(in_child(child_check), 0);
}

/* The last case, because it cannot be undone. */
CASE(one_thread_ends_the_process)
{
	assert_false(atomic_load(&sdp_is_ending));
	assert_true(sdp_ending_begin());
	assert_false(sdp_ending_begin());
	assert_true(atomic_load(&sdp_is_ending));
	/* Continues. Another thread would sleep here for ever. */
	sdp_ending_look();
}

ALL_CASES_WITH(table_start, NULL);
