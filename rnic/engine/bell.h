/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Doorbells: a lock-free stack (Treiber). Any thread pushes; one thread at a
 * time takes all.
 */
#ifndef RNIC_BELL_H
#define RNIC_BELL_H

#include "object.h"

static inline void rnic_bell_push(rnic_bell_head *stack, struct rnic_bell *bell)
{
	struct rnic_bell *head =
		atomic_load_explicit(stack, memory_order_relaxed);

	/* Rung already: the leader that takes it clears the flag first. */
	if (atomic_exchange_explicit(&bell->is_rung, true,
				     memory_order_seq_cst))
		return;
	do {
		atomic_store_explicit(&bell->next, head, memory_order_relaxed);
		/* release: pairs with the acquire of rnic_bells_serve() */
	} while (!atomic_compare_exchange_weak_explicit(stack, &head, bell,
							memory_order_release,
							memory_order_relaxed));
}

/* Is it rung, and not served yet?  Behind a seq_cst fence: then what the caller
 * has queued before the fence is served with it. */
static inline bool rnic_bell_is_rung(const struct rnic_bell *bell)
{
	return atomic_load_explicit(&bell->is_rung, memory_order_relaxed);
}

/* Serves bells until there is none. */
static inline void rnic_bells_serve(rnic_bell_head *stack)
{
	struct rnic_bell *bell;

	/* A load first: most often there is none. */
	while (atomic_load_explicit(stack, memory_order_relaxed)) {
		/* acquire: pairs with the release of rnic_bell_push() */
		bell = atomic_exchange_explicit(stack, NULL,
						memory_order_acquire);
		while (bell) {
			struct rnic_bell *next = atomic_load_explicit(
				&bell->next, memory_order_relaxed);

			/*
			 * Cleared before the queues are looked at: a poster
			 * that still saw it set committed its entries before,
			 * so they are seen; one that comes later rings anew.
			 */
			atomic_exchange_explicit(&bell->is_rung, false,
						 memory_order_seq_cst);
			/* Pairs with the fence before rnic_bell_is_rung(). */
			atomic_thread_fence(memory_order_seq_cst);
			bell->serve(bell);
			bell = next;
		}
	}
}

#endif
