/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Ranked futex locks. */
#include "lock.h"

#include <assert.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "keep-errno.h"

#define LOCK_SPIN_CNT 100
#define LOCK_TRY_CNT 1000

#ifndef NDEBUG
#define LOCKS_HELD_MAX 64

/* All that this thread holds, except the application's. */
static _Thread_local const struct util_lock *held_locks[LOCKS_HELD_MAX];
static _Thread_local size_t held_cnt;

enum rank_check { RANK_ABOVE, RANK_BESIDE, RANK_ANY };

static void rank_enter(const struct util_lock *lock, enum rank_check check)
{
	/* Every rank already held must be lower than the new one. */
	for (size_t i = 0; i < held_cnt; i++)
		if (check != RANK_ANY && (held_locks[i]->rank > lock->rank ||
					  (held_locks[i]->rank == lock->rank &&
					   check == RANK_ABOVE)))
			abort();
	/* The application's locks forbid no later lock. */
	if (lock->rank == UTIL_RANK_APP)
		return;
	if (held_cnt == LOCKS_HELD_MAX)
		abort();
	held_locks[held_cnt++] = lock;
}

static void rank_leave(const struct util_lock *lock)
{
	for (size_t i = held_cnt; i-- > 0;) {
		if (held_locks[i] == lock) {
			held_locks[i] = held_locks[--held_cnt];
			return;
		}
	}
}
#else
enum rank_check { RANK_ABOVE, RANK_BESIDE, RANK_ANY };

static void rank_enter(const struct util_lock *lock, enum rank_check check)
{
	(void)lock;
	(void)check;
}

static void rank_leave(const struct util_lock *lock)
{
	(void)lock;
}
#endif

void util_lock_init(struct util_lock *lock, enum util_lock_rank rank)
{
	atomic_store_explicit(&lock->word, 0, memory_order_relaxed);
	lock->rank = rank;
}

bool util_trylock(struct util_lock *lock)
{
	uint32_t free_word = 0;

	/* acquire: pairs with the release in util_unlock() */
	if (!atomic_compare_exchange_strong_explicit(&lock->word, &free_word, 1,
						     memory_order_acquire,
						     memory_order_relaxed))
		return false;
	rank_enter(lock, RANK_ANY);
	return true;
}

bool util_trylock_often(struct util_lock *lock)
{
	for (int i = 0; i < LOCK_TRY_CNT; i++) {
		if (util_trylock(lock))
			return true;
		sched_yield();
	}
	return false;
}

static void lock_wait(struct util_lock *lock)
{
	UTIL_KEEP_ERRNO();

	/* Word 2 tells the holder to wake a waiter. */
	while (atomic_exchange_explicit(&lock->word, 2, memory_order_acquire) !=
	       0)
		syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, 2, NULL,
			NULL, 0);
}

static void lock_take(struct util_lock *lock)
{
	uint32_t free_word;
	int spin;

	for (spin = 0; spin < LOCK_SPIN_CNT; spin++) {
		free_word = 0;
		if (atomic_compare_exchange_weak_explicit(
			    &lock->word, &free_word, 1, memory_order_acquire,
			    memory_order_relaxed))
			return;
	}
	lock_wait(lock);
}

void util_lock(struct util_lock *lock)
{
	rank_enter(lock, RANK_ABOVE);
	lock_take(lock);
}

void util_lock_beside(struct util_lock *lock)
{
	rank_enter(lock, RANK_BESIDE);
	lock_take(lock);
}

void util_unlock(struct util_lock *lock)
{
	rank_leave(lock);
	/* release: pairs with the acquires above; seq_cst: util_unlock() */
	if (atomic_exchange_explicit(&lock->word, 0, memory_order_seq_cst) == 2)
		syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL,
			NULL, 0);
}

bool util_lock_is_held(const struct util_lock *lock)
{
	return atomic_load_explicit(&lock->word, memory_order_relaxed) != 0;
}

void util_lock_assert_held(const struct util_lock *lock)
{
#ifndef NDEBUG
	for (size_t i = 0; i < held_cnt; i++)
		if (held_locks[i] == lock)
			return;
	abort();
#else
	(void)lock;
#endif
}

void util_lock_fork_child(void)
{
#ifndef NDEBUG
	held_cnt = 0;
#endif
}
