/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The table from descriptors to sockets, and the test which callers it
 * ignores. */
#include "table.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "util/cancel.h"
#include "util/fd-high.h"
#include "util/thread.h"
#include "real.h"
#include "turn.h"

_Atomic(struct util_fdtab *) sdp_fds;
_Atomic int sdp_pending_cnt;
_Atomic bool sdp_begun;
static _Atomic pid_t owner_pid;
static _Thread_local bool is_inside;

int sdp_table_start(void)
{
	struct util_fdtab *tab = util_fdtab_new();

	if (!tab)
		return -ENOMEM;
	atomic_store_explicit(&owner_pid, getpid(), memory_order_relaxed);
	/* release: publishes the table; pairs with sdp_table() */
	atomic_store_explicit(&sdp_fds, tab, memory_order_release);
	return 0;
}

bool sdp_is_owner(void)
{
	return getpid() ==
	       atomic_load_explicit(&owner_pid, memory_order_relaxed);
}

void sdp_table_fork_child(void)
{
	util_lock_fork_child();
	util_fdtab_fork_child(sdp_table());
	atomic_store_explicit(&sdp_is_ending, false, memory_order_relaxed);
	atomic_store_explicit(&owner_pid, getpid(), memory_order_relaxed);
}

/* ---- sockets ---- */

struct sdp_sock *sdp_sock_get(int fd)
{
	struct util_file *file;

	if (sdp_fd_kind(fd) != SDP_FD_SOCK)
		return NULL;
	file = util_fdtab_get(sdp_table(), fd, SDP_FD_SOCK);
	return file ? sdp_sock_of(file) : NULL;
}

struct sdp_sock *sdp_sock_pin(int fd, struct util_fd_pin *ret_pin)
{
	return util_fdtab_pin(sdp_table(), fd, SDP_FD_SOCK, ret_pin)
		       ? sdp_sock_of(ret_pin->file)
		       : NULL;
}

void sdp_sock_put(struct sdp_sock *sock)
{
	util_file_put(&sock->file);
}

void sdp_sock_hold(struct sdp_sock *sock)
{
	/* relaxed: the caller has a reference */
	atomic_fetch_add_explicit(&sock->hold_cnt, 1, memory_order_relaxed);
}

void sdp_sock_drop(struct sdp_sock *sock)
{
	/* acq_rel: every other holder's last access comes before free() */
	if (atomic_fetch_sub_explicit(&sock->hold_cnt, 1,
				      memory_order_acq_rel) != 1)
		return;
	sdp_turn_free(sock->listening.turn);
	free(sock);
}

int sdp_sock_thread(struct sdp_sock *sock, void *(*fn)(void *arg))
{
	int ret;

	sdp_sock_hold(sock);
	ret = util_thread_run(fn, sock, UTIL_THREAD_STACK);
	if (ret < 0)
		sdp_sock_drop(sock);
	return ret;
}

bool sdp_sock_has_fd(const struct sdp_sock *sock, int fd)
{
	void *object = NULL;

	return util_fdtab_lookup(sdp_table(), fd, &object) == SDP_FD_SOCK &&
	       object == &sock->file;
}

void sdp_sock_step(struct sdp_sock *sock)
{
	/* release: what has changed is seen by who sees the new number */
	atomic_fetch_add_explicit(&sock->start.step, 1, memory_order_release);
	syscall(SYS_futex, &sock->start.step, FUTEX_WAKE_PRIVATE, INT_MAX, NULL,
		NULL, 0);
}

void sdp_sock_become(struct sdp_sock *sock, enum sdp_sock_state state)
{
	/* release: publishes what the state refers to; pairs with
	 * sdp_sock_state() */
	enum sdp_sock_state old = (enum sdp_sock_state)atomic_exchange_explicit(
		&sock->state, state, memory_order_acq_rel);

	/* relaxed: a hint for the program's own thread */
	atomic_fetch_add_explicit(&sdp_pending_cnt,
				  (state == SDP_SOCK_PENDING) -
					  (old == SDP_SOCK_PENDING),
				  memory_order_relaxed);
	/* seq_cst: pairs with the check of a thread that sleeps in the kernel's
	 * epoll_wait() */
	if (state == SDP_SOCK_STARTING)
		atomic_store_explicit(&sdp_begun, true, memory_order_seq_cst);
	if (old == SDP_SOCK_STARTING)
		sdp_sock_step(sock);
}

static void sock_free(struct util_file *file)
{
	struct sdp_sock *sock = sdp_sock_of(file);

	sock->end(sock);
	sdp_sock_drop(sock);
}

struct sdp_sock *sdp_sock_add(int fd, int family,
			      void (*close)(struct util_file *file),
			      void (*end)(struct sdp_sock *sock))
{
	struct sdp_sock *sock = sdp_table() ? calloc(1, sizeof(*sock)) : NULL;

	if (!sock)
		return NULL;
	util_file_init(&sock->file, close, sock_free);
	sock->end = end;
	atomic_init(&sock->hold_cnt, 1); /* the file's reference */
	util_lock_init(&sock->lock, UTIL_RANK_SDP_SOCK);
	util_lock_init(&sock->shadow.lock, UTIL_RANK_SDP_SHADOW);
	sock->family = family;
	sock->tcp_fd = -1;
	sock->start.stop_fd = -1;
	sock->enter.note_fd = -1;
	sock->listening.twin_fd = -1;
	sock->listening.note_fd = -1;
	sock->relay.share_fd = -1;
	sock->relay.past_fd = -1;
	sock->shadow.lib_fd = -1;
	sock->options.linger_s = -1;
	sock->options.rcvlowat = 1;
	/* The number was closed without the library's knowledge. */
	util_fdtab_uninstall(sdp_table(), fd, NULL);
	if (util_fdtab_install(sdp_table(), fd, SDP_FD_SOCK, &sock->file) < 0) {
		sdp_sock_put(sock);
		return NULL;
	}
	sdp_sock_put(sock); /* the number has its own reference */
	return sock;
}

int sdp_sock_add_fd(struct sdp_sock *sock, int fd)
{
	return util_fdtab_install(sdp_table(), fd, SDP_FD_SOCK, &sock->file);
}

void sdp_sock_each_fd(struct sdp_sock *sock, void (*fn)(int fd, void *arg),
		      void *arg)
{
	int fd = util_fdtab_find(sdp_table(), 0, &sock->file);

	for (; fd >= 0; fd = util_fdtab_find(sdp_table(), fd + 1, &sock->file))
		fn(fd, arg);
}

static void number_cover(int fd, void *arg)
{
	const int *from_fd = arg;
	long flags = syscall(SYS_fcntl, fd, F_GETFD);

	syscall(SYS_dup3, *from_fd, fd,
		flags > 0 && (flags & FD_CLOEXEC) ? O_CLOEXEC : 0);
}

void sdp_sock_cover(struct sdp_sock *sock, int from_fd)
{
	/* A number that was found is not closed before it is replaced:
	 * sdp_fd_close() takes this lock after removing the number from the
	 * table. */
	util_lock(&sock->shadow.lock);
	sdp_sock_each_fd(sock, number_cover, &from_fd);
	util_unlock(&sock->shadow.lock);
}

int sdp_sock_below_take(struct sdp_sock *sock)
{
	int ret = sock->tcp_fd;

	if (ret >= 0)
		return 0;
	/* With this lock: who closes the last number closes this one too. */
	util_lock(&sock->shadow.lock);
	ret = sdp_private_dup(sdp_sock_any_fd(sock));
	if (ret >= 0)
		sock->tcp_fd = ret;
	util_unlock(&sock->shadow.lock);
	return ret < 0 ? ret : 0;
}

void sdp_sock_below_put(struct sdp_sock *sock, int from_fd)
{
	if (sock->tcp_fd >= 0 && sock->tcp_fd != from_fd)
		syscall(SYS_dup3, from_fd, sock->tcp_fd, O_CLOEXEC);
}

int sdp_sock_add_dup(struct sdp_sock *sock, int fd, int from_fd)
{
	int ret;

	util_lock(&sock->shadow.lock);
	ret = sdp_sock_add_fd(sock, fd);
	if (ret == 0 && sdp_sock_has_fd(sock, from_fd))
		number_cover(fd, &from_fd);
	util_unlock(&sock->shadow.lock);
	return ret;
}

int sdp_sock_any_fd(struct sdp_sock *sock)
{
	return util_fdtab_find(sdp_table(), 0, &sock->file);
}

/* The table's walk passes no argument. */
static _Thread_local void (*each_fn)(struct sdp_sock *sock);

static void each_sock(struct util_fdtab *tab, int fd, unsigned int kind,
		      void *object)
{
	struct util_file *file = NULL;

	(void)object;
	if (kind == SDP_FD_SOCK)
		file = util_fdtab_get(tab, fd, SDP_FD_SOCK);
	if (!file)
		return;
	each_fn(sdp_sock_of(file));
	util_file_put(file);
}

void sdp_table_each_sock(void (*fn)(struct sdp_sock *sock))
{
	each_fn = fn;
	util_fdtab_each(sdp_table(), each_sock);
}

/* ---- descriptors of the library's own ---- */

int sdp_private_dup(int fd)
{
	int copy = util_fd_high_dup(fd, NULL), ret;

	if (copy < 0)
		return copy;
	ret = util_fdtab_add(sdp_table(), copy, SDP_FD_PRIVATE, NULL);
	if (ret < 0) {
		util_sys_close(copy);
		return ret;
	}
	return copy;
}

int sdp_private_add(int fd)
{
	int ret = sdp_private_dup(fd);

	if (ret >= 0)
		util_sys_close(fd);
	return ret;
}

int sdp_private_take(int fd)
{
	int ret = fd < 0 ? -errno : sdp_private_add(fd);

	if (ret < 0 && fd >= 0)
		util_sys_close(fd);
	return ret;
}

void sdp_private_note(int fd, bool is_kept)
{
	if (!sdp_table())
		return;
	if (is_kept)
		(void)util_fdtab_add(sdp_table(), fd, SDP_FD_PRIVATE, NULL);
	else
		(void)util_fdtab_remove(sdp_table(), fd);
}

void sdp_private_close(int fd)
{
	if (fd < 0)
		return;
	util_fdtab_remove(sdp_table(), fd);
	util_sys_close(fd);
}

/* ---- the process exits ---- */

_Atomic bool sdp_is_ending;
static _Thread_local bool is_ender;

bool sdp_ending_begin(void)
{
	if (atomic_exchange_explicit(&sdp_is_ending, true,
				     memory_order_acq_rel))
		return false;
	is_ender = true;
	return true;
}

void sdp_ending_sleep(void)
{
	while (!is_ender && !is_inside)
		pause();
}

/* ---- callers ---- */

bool sdp_inside(void)
{
	return is_inside;
}

bool sdp_inside_enter(void)
{
	bool old = is_inside;

	is_inside = true;
	return old;
}

void sdp_inside_leave(bool old)
{
	is_inside = old;
}

bool sdp_caller_is_rnic(const void *caller)
{
	static const char *const names[] = {
		"libusiw", "libsdp", "libibverbs", "librdmacm",
		"libnl-",  "libmlx", "libsiw",
	};
	const char *path, *base;
	Dl_info info;

	if (!dladdr(caller, &info) || !info.dli_fname)
		return false;
	path = info.dli_fname;
	base = strrchr(path, '/');
	base = base ? base + 1 : path;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(base, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}
