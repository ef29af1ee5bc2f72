/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Slots of resources in the file of the counter page (abi/usiw-res.h), so that
 * other processes see what this one has.
 *
 * An object has a slot as long as it exists, and writes to it without asking
 * whether anybody reads.  An object for which the file has no slot has private
 * memory instead.  What stands in a slot is never read for a decision: other
 * processes of the user can write there.
 */
#ifndef RNIC_RESOURCE_H
#define RNIC_RESOURCE_H

#include <stdatomic.h>
#include <stdint.h>

#include "abi/usiw-res.h"
#include "addr.h"

/**
 * rnic_res_take - get a slot for an object that is being made
 * @id: its number; 0: the next one of this kind.
 *
 * All of the slot is 0 except for the head.  Others do not see it before
 * rnic_res_close(), nor without a counter page (rnic_stat_init()).
 *
 * Return: the slot (struct usiw_res_KIND), aligned to a cache line; NULL: out
 *   of memory.
 * Context: any thread; takes a lock of rank LEAF.
 */
void *rnic_res_take(enum usiw_res_kind kind, uint32_t id)
	__attribute__((warn_unused_result));

/* The object ends: nothing is written to the slot any more.  NULL: nothing. */
void rnic_res_give(enum usiw_res_kind kind, void *slot);

/*
 * Around a change of what identifies the resource, and after the slot was taken
 * and filled.  Under the lock that guards the object.
 */
static inline void rnic_res_open(struct usiw_res_head *head)
{
	uint32_t seq = atomic_load_explicit(&head->seq, memory_order_relaxed);

	/* relaxed, and the fence: the odd number before the change */
	atomic_store_explicit(&head->seq, seq | 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}

static inline void rnic_res_close(struct usiw_res_head *head)
{
	uint32_t seq = atomic_load_explicit(&head->seq, memory_order_relaxed);

	/* release: the change before the even number; 0 is that of a free
	 * slot */
	atomic_store_explicit(&head->seq, seq == UINT32_MAX ? 2 : seq + 1,
			      memory_order_release);
}

/* @value of a slot is @to, or @more than before.  One thread at a time. */
static inline void rnic_res_set(_Atomic uint32_t *value, uint32_t to)
{
	atomic_store_explicit(value, to, memory_order_relaxed);
}

static inline void rnic_res_grow(_Atomic uint64_t *value, uint64_t more)
{
	atomic_store_explicit(
		value, atomic_load_explicit(value, memory_order_relaxed) + more,
		memory_order_relaxed);
}

/* Family 0: none. */
void rnic_res_set_addr(struct usiw_res_addr *to,
		       const struct sockaddr_storage *from);

/* CLOCK_REALTIME, as in the slots. */
uint64_t rnic_res_now_ns(void);

/*
 * In a forked child, after rnic_stat_fork_child().  The parent's slots become
 * private memory at the same place, so that what was inherited may still write
 * to its slot.
 */
void rnic_res_fork_child(void);

#endif
