/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See owed.h. */
#include "owed.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cancel.h"
#include "verbs/sdp-link.h"

static _Atomic int cnt, stopped_cnt;
static struct sdp_sock *_Atomic stopped;
static _Atomic int stop_fd; /* 0: none yet */

/* The kernel resets a connection at its last close() if the time is 0. */
static void linger_put(int fd, bool is_on)
{
	struct linger linger = { .l_onoff = is_on };

	syscall(SYS_setsockopt, fd, SOL_SOCKET, SO_LINGER, &linger,
		sizeof(linger));
}

void sdp_owed_begin(struct sdp_sock *sock)
{
	linger_put(sock->tcp_fd, true);
	atomic_fetch_add_explicit(&cnt, 1, memory_order_relaxed);
}

void sdp_owed_settle(struct sdp_sock *sock)
{
	linger_put(sock->tcp_fd, false);
}

void sdp_owed_end(void)
{
	/* release: pairs with sdp_owed_cnt() */
	atomic_fetch_sub_explicit(&cnt, 1, memory_order_release);
}

int sdp_owed_cnt(void)
{
	/* acquire: pairs with the release in sdp_owed_end() */
	return atomic_load_explicit(&cnt, memory_order_acquire);
}

/* ---- the end of the process ---- */

int sdp_owed_stop_fd(void)
{
	/* acquire: pairs with the exchange below */
	int fd = atomic_load_explicit(&stop_fd, memory_order_acquire);
	int none = 0;

	if (fd > 0)
		return fd;
	fd = sdp_private_take(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (fd <= 0)
		return 0;
	if (atomic_compare_exchange_strong_explicit(&stop_fd, &none, fd,
						    memory_order_acq_rel,
						    memory_order_acquire))
		return fd;
	sdp_private_close(fd);
	return none;
}

void sdp_owed_put(struct sdp_sock *sock)
{
	sock->start.owed_next =
		atomic_load_explicit(&stopped, memory_order_relaxed);
	/* release: publishes the link; pairs with sdp_owed_take() */
	while (!atomic_compare_exchange_weak_explicit(
		&stopped, &sock->start.owed_next, sock, memory_order_release,
		memory_order_relaxed))
		;
	/* release: pairs with sdp_owed_stop() */
	atomic_fetch_add_explicit(&stopped_cnt, 1, memory_order_release);
}

bool sdp_owed_stop(uint64_t deadline)
{
	static const struct timespec nap = { .tv_nsec = 1000000 };
	uint64_t one = 1;
	int fd = sdp_owed_stop_fd();

	if (fd == 0 || util_sys_write(fd, &one, sizeof(one)) < 0)
		return false;
	/* acquire: pairs with sdp_owed_put() */
	while (atomic_load_explicit(&stopped_cnt, memory_order_acquire) <
		       sdp_owed_cnt() &&
	       sdp_now_ns() < deadline)
		nanosleep(&nap, NULL);
	return atomic_load_explicit(&stopped_cnt, memory_order_acquire) > 0;
}

void sdp_owed_go_on(void)
{
	uint64_t cleared;

	(void)!util_sys_read(sdp_owed_stop_fd(), &cleared, sizeof(cleared));
}

struct sdp_sock *sdp_owed_take(void)
{
	/* acquire: pairs with sdp_owed_put() */
	struct sdp_sock *sock =
		atomic_load_explicit(&stopped, memory_order_acquire);

	while (sock && !atomic_compare_exchange_weak_explicit(
			       &stopped, &sock, sock->start.owed_next,
			       memory_order_acquire, memory_order_acquire))
		;
	if (sock)
		atomic_fetch_sub_explicit(&stopped_cnt, 1,
					  memory_order_relaxed);
	return sock;
}

void sdp_owed_give(void)
{
	while (sdp_owed_take())
		sdp_owed_end();
}

void sdp_owed_fork_child(void)
{
	int fd = atomic_exchange_explicit(&stop_fd, 0, memory_order_relaxed);

	/* The parent has the same eventfd. */
	if (fd > 0)
		sdp_private_close(fd);
	atomic_store_explicit(
		&cnt, atomic_load_explicit(&stopped_cnt, memory_order_relaxed),
		memory_order_relaxed);
}
