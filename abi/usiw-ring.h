/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Rings with one producer and one consumer, over struct usiw_ring_hdr.  Several
 * threads on one side must serialise with a lock of their own.
 *
 * Indices run freely modulo 2^32 and are compared only through their unsigned
 * difference.  The number of slots is a power of two.  @depth (<= slots) is
 * the number of entries that the ring may hold.
 */
#ifndef USIW_RING_H
#define USIW_RING_H

#include "usiw-abi.h"

struct usiw_ring {
	struct usiw_ring_hdr *hdr;
	uint8_t *slots;
	uint32_t mask;	 /* slot count - 1 */
	uint32_t stride; /* octets per slot */
	uint32_t depth;	 /* entries it may hold */
	/* Copies of the indices, for observers (usiw-res.h); or the indices
	 * themselves.  Nothing here reads them. */
	_Atomic uint32_t *shown_prod, *shown_cons;
};

/* Smallest power of two that is at least @cnt (@cnt 1 to 2^31). */
static inline uint32_t usiw_ring_slot_cnt(uint32_t cnt)
{
	uint32_t n = 1;

	while (n < cnt)
		n <<= 1;
	return n;
}

/* Octets of memory for a ring of @depth entries of @stride octets. */
static inline size_t usiw_ring_size(uint32_t depth, uint32_t stride)
{
	return sizeof(struct usiw_ring_hdr) +
	       (size_t)usiw_ring_slot_cnt(depth) * stride;
}

/* @mem: zeroed, cache-line aligned, usiw_ring_size() octets. */
static inline void usiw_ring_init(struct usiw_ring *ring, void *mem,
				  uint32_t depth, uint32_t stride)
{
	ring->hdr = mem;
	ring->slots = (uint8_t *)mem + sizeof(struct usiw_ring_hdr);
	ring->mask = usiw_ring_slot_cnt(depth) - 1;
	ring->stride = stride;
	ring->depth = depth;
	ring->shown_prod = &ring->hdr->prod_idx;
	ring->shown_cons = &ring->hdr->cons_idx;
}

/* Each index is copied to its place from now on. */
static inline void usiw_ring_show(struct usiw_ring *ring,
				  _Atomic uint32_t *prod,
				  _Atomic uint32_t *cons)
{
	ring->shown_prod = prod;
	ring->shown_cons = cons;
}

static inline void *usiw_ring_slot(const struct usiw_ring *ring, uint32_t idx)
{
	return ring->slots + (size_t)(idx & ring->mask) * ring->stride;
}

/*
 * Move the entries to @slots, which is zeroed memory for @depth entries, no
 * fewer than there are now.  Indices and header stay in place, because other
 * threads read them without a lock.  The caller excludes producer and consumer.
 */
static inline void usiw_ring_move(struct usiw_ring *ring, void *slots,
				  uint32_t depth)
{
	struct usiw_ring to = *ring;
	/* relaxed: the caller excludes producer and consumer */
	uint32_t idx = atomic_load_explicit(&ring->hdr->cons_idx,
					    memory_order_relaxed);
	uint32_t end = atomic_load_explicit(&ring->hdr->prod_idx,
					    memory_order_relaxed);

	to.slots = slots;
	to.mask = usiw_ring_slot_cnt(depth) - 1;
	to.depth = depth;
	for (; idx != end; idx++)
		for (uint32_t i = 0; i < ring->stride; i++)
			((uint8_t *)usiw_ring_slot(&to, idx))[i] =
				((uint8_t *)usiw_ring_slot(ring, idx))[i];
	/* Not ring->hdr, which other threads read. */
	ring->slots = to.slots;
	ring->mask = to.mask;
	ring->depth = to.depth;
}

/* Entries between consumer and producer, as either side sees it now. */
static inline uint32_t usiw_ring_used(const struct usiw_ring *ring)
{
	/* acquire: the caller may look into the entries counted */
	uint32_t prod = atomic_load_explicit(&ring->hdr->prod_idx,
					     memory_order_acquire);
	uint32_t cons = atomic_load_explicit(&ring->hdr->cons_idx,
					     memory_order_acquire);

	return prod - cons;
}

/* A hint, for any thread that does not own the consumer side.  It reads the
 * header only, which does not move while the ring exists. */
static inline int usiw_ring_is_empty(const struct usiw_ring *ring)
{
	return usiw_ring_used(ring) == 0;
}

/* For a consumer that works ahead of what it consumed: true if entry @idx has
 * been committed. */
static inline int usiw_ring_slot_pending(const struct usiw_ring *ring,
					 uint32_t idx)
{
	/* acquire: pairs with usiw_ring_commit() */
	return atomic_load_explicit(&ring->hdr->prod_idx,
				    memory_order_acquire) != idx;
}

/* The index of the next entry, for the side that counts it. */
static inline uint32_t usiw_ring_prod_idx(const struct usiw_ring *ring)
{
	/* relaxed: only the producer writes it */
	return atomic_load_explicit(&ring->hdr->prod_idx, memory_order_relaxed);
}

static inline uint32_t usiw_ring_cons_idx(const struct usiw_ring *ring)
{
	/* relaxed: only the consumer writes it */
	return atomic_load_explicit(&ring->hdr->cons_idx, memory_order_relaxed);
}

/*
 * Producer: the slot that is @ahead entries past the last committed one, or
 * NULL when the ring is full.
 */
static inline void *usiw_ring_reserve(const struct usiw_ring *ring,
				      uint32_t ahead)
{
	uint32_t prod = usiw_ring_prod_idx(ring);
	/* acquire: pairs with usiw_ring_consume(), the slot is free again */
	uint32_t cons = atomic_load_explicit(&ring->hdr->cons_idx,
					     memory_order_acquire);

	if (prod + ahead - cons >= ring->depth)
		return NULL;
	return usiw_ring_slot(ring, prod + ahead);
}

/* Producer: publish @cnt reserved entries. */
static inline void usiw_ring_commit(const struct usiw_ring *ring, uint32_t cnt)
{
	uint32_t prod = usiw_ring_prod_idx(ring);

	/* release: pairs with usiw_ring_peek(), entries before the index */
	atomic_store_explicit(&ring->hdr->prod_idx, prod + cnt,
			      memory_order_release);
	atomic_store_explicit(ring->shown_prod, prod + cnt,
			      memory_order_relaxed);
}

/* Consumer: the entry @ahead past the oldest, or NULL when there is none. */
static inline void *usiw_ring_peek(const struct usiw_ring *ring, uint32_t ahead)
{
	uint32_t cons = usiw_ring_cons_idx(ring);
	/* acquire: pairs with usiw_ring_commit() */
	uint32_t prod = atomic_load_explicit(&ring->hdr->prod_idx,
					     memory_order_acquire);

	if (prod - cons <= ahead)
		return NULL;
	return usiw_ring_slot(ring, cons + ahead);
}

/* Consumer: give the @cnt oldest entries back. */
static inline void usiw_ring_consume(const struct usiw_ring *ring, uint32_t cnt)
{
	uint32_t cons = usiw_ring_cons_idx(ring);

	/* release: pairs with usiw_ring_reserve(), reads before the index */
	atomic_store_explicit(&ring->hdr->cons_idx, cons + cnt,
			      memory_order_release);
	atomic_store_explicit(ring->shown_cons, cons + cnt,
			      memory_order_relaxed);
}

#endif
