/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Atomic operations on memory of the application. */
#include "atomic.h"

#include <string.h>

#include "os/guard.h"

/*
 * TSan's runtime does atomics itself, under a lock of its own, which an access
 * that is left in its middle would keep.
 */
#define ATOMIC_BARE __attribute__((no_sanitize("thread")))

struct atomic_access {
	const struct rnic_atomic *atomic;
	uint64_t *target;
	uint64_t old;
};

/* Carries stop at the topmost bit of each field. */
static uint64_t fields_add(uint64_t a, uint64_t b, uint64_t mask)
{
	return ((a & ~mask) + (b & ~mask)) ^ ((a ^ b) & mask);
}

static uint64_t bits_replace(uint64_t a, uint64_t b, uint64_t mask)
{
	return (a & ~mask) | (b & mask);
}

/*
 * What the CPU has no instruction for is tried until no other write came
 * between. Others get on meanwhile, so this ends unless the word is under
 * constant attack, when the CPU's own fetch-and-add would be contended as well.
 */
ATOMIC_BARE static uint64_t masked_do(const struct rnic_atomic *a,
				      uint64_t *target)
{
	uint64_t old = __atomic_load_n(target, __ATOMIC_SEQ_CST);
	uint64_t new;

	do {
		if (a->op == RNIC_FETCH_ADD)
			new = fields_add(old, a->add_swap, a->add_swap_mask);
		else if ((old ^ a->compare) & a->compare_mask)
			return old;
		else
			new = bits_replace(old, a->add_swap, a->add_swap_mask);
	} while (!__atomic_compare_exchange_n(
		target, &old, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	return old;
}

/*
 * The application's object is not ours to declare _Atomic, so these are the
 * compiler's own.  seq_cst: verbs promise one order of all atomics to
 * programs that look at several words.
 */
ATOMIC_BARE static void access_do(void *arg)
{
	struct atomic_access *access = arg;
	const struct rnic_atomic *a = access->atomic;
	uint64_t old = a->compare;

	if (a->op == RNIC_FETCH_ADD && !a->add_swap_mask) {
		access->old = __atomic_fetch_add(access->target, a->add_swap,
						 __ATOMIC_SEQ_CST);
	} else if (a->op == RNIC_CMP_SWP &&
		   (a->compare_mask & a->add_swap_mask) == UINT64_MAX) {
		(void)__atomic_compare_exchange_n(
			access->target, &old, a->add_swap, 0, __ATOMIC_SEQ_CST,
			__ATOMIC_SEQ_CST);
		access->old = old;
	} else {
		access->old = masked_do(a, access->target);
	}
}

int rnic_atomic_execute(const struct rnic_atomic *atomic, void *target,
			uint64_t *ret_old)
{
	struct atomic_access access = { .atomic = atomic, .target = target };

	int rc = rnic_guard(access_do, &access);

	if (rc == 0)
		*ret_old = access.old;
	return rc;
}

struct store_access {
	const struct iovec *iov;
	uint64_t value;
};

/* One word at once where it is one, for threads that look at it meanwhile. */
static void store_do(void *arg)
{
	const struct store_access *access = arg;
	const struct iovec *iov = access->iov;
	const uint8_t *from = (const uint8_t *)&access->value;
	size_t left = RNIC_ATOMIC_LEN;

	if (iov->iov_len == RNIC_ATOMIC_LEN &&
	    (uintptr_t)iov->iov_base % RNIC_ATOMIC_LEN == 0) {
		__atomic_store_n((uint64_t *)iov->iov_base, access->value,
				 __ATOMIC_RELEASE);
		return;
	}
	for (; left; iov++) {
		memcpy(iov->iov_base, from, iov->iov_len);
		from += iov->iov_len;
		left -= iov->iov_len;
	}
}

int rnic_atomic_store(const struct iovec *iov, uint64_t value)
{
	struct store_access access = { .iov = iov, .value = value };

	return rnic_guard(store_do, &access);
}
