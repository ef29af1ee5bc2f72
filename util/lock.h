/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Ranked locks.  The ranks define the order in which locks may be taken.
 *
 * A thread takes locks in rising rank only; debug builds (without NDEBUG)
 * abort on a lower or equal rank.  Locks that the application keeps between its
 * calls come first, and a thread may hold any number of them.  A lock spins
 * briefly, then sleeps in a futex.  Without contention, taking and releasing it
 * cost one atomic operation each.
 */
#ifndef UTIL_LOCK_H
#define UTIL_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum util_lock_rank {
	UTIL_RANK_APP = 0,     /* kept by the application: ibv_start_poll(),
				  ibv_wr_start() */
	UTIL_RANK_SDP_SOCK,    /* the socket layer: one socket */
	UTIL_RANK_SDP_WATCH,   /* its notes on epoll sets */
	UTIL_RANK_SDP_PROCESS, /* devices of sdp/verbs, and fork */
	UTIL_RANK_SDP_POLL,    /* a completion queue's consumer */
	UTIL_RANK_SDP_LINK,    /* one connection */
	UTIL_RANK_SDP_SHADOW,  /* the socket layer's, below a link */
	UTIL_RANK_SDP_READY,   /* what is ready in an epoll set */
	UTIL_RANK_SDP_POOL,    /* buffers, timers, sleepers */
	UTIL_RANK_DEVICE,
	UTIL_RANK_CM,
	UTIL_RANK_ENGINE,
	UTIL_RANK_QP_RQ,
	UTIL_RANK_CQ,
	UTIL_RANK_MR_TABLE,
	UTIL_RANK_CHAN,
	UTIL_RANK_LEAF, /* inbox, log, stat */
};

struct util_lock {
	_Atomic uint32_t word; /* 0 free, 1 held, 2 held and waited for */
	uint32_t rank;
};

/* Static initialiser. */
#define UTIL_LOCK_INIT(r) { .word = 0, .rank = (r) }

/* A forked child also calls it for every global lock, to reset the holder. */
void util_lock_init(struct util_lock *lock, enum util_lock_rank rank);

void util_lock(struct util_lock *lock);

/* The same, if the thread has locks of this rank already: the caller keeps an
 * order among them. */
void util_lock_beside(struct util_lock *lock);

/* Return: true: the lock was taken.  The rank is not checked. */
bool util_trylock(struct util_lock *lock);

/* The same, and other threads run between many tries: for a signal handler,
 * which may have interrupted the thread that holds the lock. */
bool util_trylock_often(struct util_lock *lock);

/*
 * This is a seq_cst operation.  Another thread may store a note, execute a
 * seq_cst fence, and then fail to get the lock.  The holder sees that note if
 * it loads it by a seq_cst operation after this call.
 */
void util_unlock(struct util_lock *lock);

static inline struct util_lock *util_scope_lock(struct util_lock *lock)
{
	util_lock(lock);
	return lock;
}

static inline void util_scope_unlock(struct util_lock *const *lock)
{
	util_unlock(*lock);
}

/* Locked from this declaration to the end of its scope, after what is
 * returned has been evaluated. */
#define UTIL_LOCKED(lock)                                                      \
	__attribute__((cleanup(util_scope_unlock),                             \
		       unused)) struct util_lock *const util_locked =          \
		util_scope_lock(lock)

/* Return: true: a thread holds the lock, or held it a moment ago. */
bool util_lock_is_held(const struct util_lock *lock);

/* Aborts in debug builds unless the calling thread holds @lock (not for
 * UTIL_RANK_APP). */
void util_lock_assert_held(const struct util_lock *lock);

/* Resets the ranks that this thread holds.  A forked child calls it first. */
void util_lock_fork_child(void);

#endif
