/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Ranked futex locks. */
#include "lock.h"

#include <assert.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOCK_SPIN_CNT 100

#ifndef NDEBUG
/* Bit r: this thread holds a lock of rank r. */
static _Thread_local uint32_t held_ranks;
static _Thread_local const struct util_lock *held_locks[UTIL_RANK_LEAF + 1];

static void rank_enter(const struct util_lock *lock, bool is_try)
{
	/* Every rank already held must be lower than the new one. */
	if (!is_try && (held_ranks >> lock->rank) != 0)
		abort();
	/* The application's locks forbid no later lock. */
	if (lock->rank == UTIL_RANK_APP)
		return;
	held_ranks |= 1u << lock->rank;
	held_locks[lock->rank] = lock;
}

static void rank_leave(const struct util_lock *lock)
{
	if (held_locks[lock->rank] == lock) {
		held_locks[lock->rank] = NULL;
		held_ranks &= ~(1u << lock->rank);
	}
}
#else
static void rank_enter(const struct util_lock *lock, bool is_try)
{
	(void)lock;
	(void)is_try;
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
	rank_enter(lock, true);
	return true;
}

static void lock_wait(struct util_lock *lock)
{
	/* Word 2 tells the holder to wake a waiter. */
	while (atomic_exchange_explicit(&lock->word, 2, memory_order_acquire) !=
	       0)
		syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, 2, NULL,
			NULL, 0);
}

void util_lock(struct util_lock *lock)
{
	uint32_t free_word;
	int spin;

	rank_enter(lock, false);
	for (spin = 0; spin < LOCK_SPIN_CNT; spin++) {
		free_word = 0;
		if (atomic_compare_exchange_weak_explicit(
			    &lock->word, &free_word, 1, memory_order_acquire,
			    memory_order_relaxed))
			return;
	}
	lock_wait(lock);
}

void util_unlock(struct util_lock *lock)
{
	rank_leave(lock);
	/* release: pairs with the acquires above */
	if (atomic_exchange_explicit(&lock->word, 0, memory_order_release) == 2)
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
	if (held_locks[lock->rank] != lock)
		abort();
#else
	(void)lock;
#endif
}

void util_lock_fork_child(void)
{
#ifndef NDEBUG
	held_ranks = 0;
	for (size_t r = 0; r <= UTIL_RANK_LEAF; r++)
		held_locks[r] = NULL;
#endif
}
