/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See sleeper.h. */
#include "sleeper.h"

#include <pthread.h>
#include <sys/eventfd.h>

#include "util/cancel.h"
#include "util/keep-errno.h"
#include "sock/base/table.h"

/* One descriptor per thread, made when the thread first sleeps; 0: none. */
static _Thread_local int thread_fd;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

/* Runs at thread exit. A destructor that runs later gets a new descriptor. */
static void fd_end(void *arg)
{
	thread_fd = 0;
	sdp_private_close((int)(intptr_t)arg);
}

static void key_make(void)
{
	has_key = pthread_key_create(&key, fd_end) == 0;
}

static int fd_make(void)
{
	int fd;

	pthread_once(&key_once, key_make);
	if (!has_key)
		return -1;
	fd = sdp_private_take(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (fd < 0)
		return -1;
	if (pthread_setspecific(key, (void *)(intptr_t)fd)) {
		sdp_private_close(fd);
		return -1;
	}
	return fd;
}

void sdp_sleeper_init(struct sdp_sleeper *sleeper)
{
	UTIL_KEEP_ERRNO();

	if (thread_fd <= 0)
		thread_fd = fd_make();
	sleeper->fd = thread_fd;
	sleeper->is_listed = false;
	atomic_init(&sleeper->is_asleep, false);
}

bool sdp_sleeper_wake(struct sdp_sleeper *sleeper)
{
	uint64_t one = 1;

	/* seq_cst: pairs with sdp_sleeper_begin() */
	if (!atomic_exchange_explicit(&sleeper->is_asleep, false,
				      memory_order_seq_cst))
		return false;
	(void)!util_sys_write(sleeper->fd, &one, sizeof(one));
	return true;
}

void sdp_sleeper_end(struct sdp_sleeper *sleeper, bool has_token)
{
	uint64_t cnt;

	/* A waker that runs in between leaves its token, so the next sleep is
	 * short. */
	atomic_store_explicit(&sleeper->is_asleep, false, memory_order_relaxed);
	if (has_token)
		(void)!util_sys_read(sleeper->fd, &cnt, sizeof(cnt));
}

void sdp_sleeper_fork_child(void)
{
	if (thread_fd <= 0)
		return;
	(void)pthread_setspecific(key, NULL);
	sdp_private_close(thread_fd);
	thread_fd = 0;
}
