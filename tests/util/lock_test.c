/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Ranked locks: mutual exclusion, and an abort of debug builds on a wrong
 * order. */
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "child.h"
#include "util/lock.h"
#include "until.h"
#include "wrap-syscall.h"

static struct util_lock lock = UTIL_LOCK_INIT(UTIL_RANK_CHAN);
static long counter; /* protected by lock; deliberately not atomic */

static void *count_up(void *arg)
{
	(void)arg;
	for (int i = 0; i < 100000; i++) {
		util_lock(&lock);
		counter++;
		util_unlock(&lock);
	}
	return NULL;
}

CASE(excludes_other_threads)
{
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, count_up, NULL), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(counter, 300000);
}

static void *try_it(void *ret)
{
	*(bool *)ret = util_trylock(&lock);
	if (*(bool *)ret)
		util_unlock(&lock);
	return NULL;
}

static bool try_in_thread(void)
{
	pthread_t thread;
	bool ret = false;

	assert_int_equal(pthread_create(&thread, NULL, try_it, &ret), 0);
	pthread_join(thread, NULL);
	return ret;
}

CASE(trylock_tells_whether_it_was_free)
{
	assert_true(try_in_thread());
	util_lock(&lock);
	assert_false(try_in_thread());
	util_unlock(&lock);
	assert_true(try_in_thread());
}

CASE(reports_that_a_lock_is_held)
{
	assert_false(util_lock_is_held(&lock));
	util_lock(&lock);
	assert_true(util_lock_is_held(&lock));
	util_unlock(&lock);
	assert_false(util_lock_is_held(&lock));
}

/* The next wait ends at once, as if the lock had just been released. */
static _Atomic bool is_wait_vain;

static int syscall_error(long nr, long first_arg)
{
	(void)first_arg;
	return nr == SYS_futex && atomic_exchange(&is_wait_vain, false) ? EAGAIN
									: 0;
}

static void *lock_with_errno(void *ret_errno)
{
	errno = EXDEV;
	util_lock(&lock);
	*(int *)ret_errno = errno;
	util_unlock(&lock);
	return NULL;
}

CASE(a_wait_keeps_errno)
{
	pthread_t thread;
	int err = 0;

	util_lock(&lock);
	atomic_store(&is_wait_vain, true);
	assert_int_equal(pthread_create(&thread, NULL, lock_with_errno, &err),
			 0);
	wait_until(!atomic_load(&is_wait_vain));
	util_unlock(&lock);
	pthread_join(thread, NULL);
	assert_int_equal(err, EXDEV);
}

CASE(init_forgets_the_owner)
{
	util_lock(&lock);
	util_lock_fork_child();
	util_lock_init(&lock, UTIL_RANK_CHAN);
	assert_true(try_in_thread());
}

static int take_lower_rank(void *arg)
{
	struct util_lock low = UTIL_LOCK_INIT(UTIL_RANK_CM);
	struct util_lock high = UTIL_LOCK_INIT(UTIL_RANK_CHAN);

	(void)arg;
	util_lock(&high);
	util_lock(&low);
	return 0;
}

static int take_equal_rank(void *arg)
{
	struct util_lock one = UTIL_LOCK_INIT(UTIL_RANK_LEAF);
	struct util_lock other = UTIL_LOCK_INIT(UTIL_RANK_LEAF);

	(void)arg;
	util_lock(&one);
	util_lock(&other);
	return 0;
}

static int take_rising_ranks(void *arg)
{
	struct util_lock low = UTIL_LOCK_INIT(UTIL_RANK_DEVICE);
	struct util_lock high = UTIL_LOCK_INIT(UTIL_RANK_LEAF);

	(void)arg;
	util_lock(&low);
	util_lock_assert_held(&low);
	util_lock(&high);
	util_unlock(&low); /* in any order */
	util_unlock(&high);
	util_lock(&low);
	return 0;
}

static int take_app_first(void *arg)
{
	struct util_lock one = UTIL_LOCK_INIT(UTIL_RANK_APP);
	struct util_lock other = UTIL_LOCK_INIT(UTIL_RANK_APP);
	struct util_lock low = UTIL_LOCK_INIT(UTIL_RANK_DEVICE);

	(void)arg;
	util_lock(&one);
	util_lock(&other);
	util_lock(&low);
	util_unlock(&low);
	util_unlock(&one);
	util_unlock(&other);
	return 0;
}

static int take_app_late(void *arg)
{
	struct util_lock low = UTIL_LOCK_INIT(UTIL_RANK_DEVICE);
	struct util_lock app = UTIL_LOCK_INIT(UTIL_RANK_APP);

	(void)arg;
	util_lock(&low);
	util_lock(&app);
	return 0;
}

static int assert_unheld(void *arg)
{
	(void)arg;
	util_lock_assert_held(&lock);
	return 0;
}

CASE(debug_builds_abort_on_a_wrong_order)
{
#ifdef NDEBUG
	const int wrong = 0;
#else
	const int wrong = -SIGABRT;
#endif
	char err[256];

	assert_int_equal(child_run(take_lower_rank, NULL, err, sizeof(err)),
			 wrong);
	assert_int_equal(child_run(take_equal_rank, NULL, err, sizeof(err)),
			 wrong);
	assert_int_equal(child_run(take_app_first, NULL, err, sizeof(err)), 0);
	assert_int_equal(child_run(take_app_late, NULL, err, sizeof(err)),
			 wrong);
	assert_int_equal(child_run(assert_unheld, NULL, err, sizeof(err)),
			 wrong);
	assert_int_equal(child_run(take_rising_ranks, NULL, err, sizeof(err)),
			 0);
}
