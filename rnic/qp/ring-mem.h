/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The memory of a ring.  Header and indices are always ours.  The slots follow
 * them, or are apart because they were moved or the caller has lent them.
 */
#ifndef RNIC_RING_MEM_H
#define RNIC_RING_MEM_H

#include "abi/usiw-ring.h"
#include "os/shm.h"

struct rnic_ring_mem {
	struct rnic_shm *shm;
	size_t size;	   /* of the memory that begins with the header */
	size_t slots_size; /* of slots of ours apart from it; 0: none */
	bool is_lent;	   /* the slots are the caller's */
};

/* Octets of the slots of a ring of @depth entries. */
size_t rnic_ring_slots_size(uint32_t depth, uint32_t stride);

/* What is asked for may be nothing. */
static inline uint32_t rnic_at_least_1(uint32_t value)
{
	return value ? value : 1;
}

/* Octets of a receive with so many SGEs. */
static inline uint32_t rnic_rqe_stride(uint32_t max_sge)
{
	return (uint32_t)(sizeof(struct usiw_rqe) +
			  rnic_at_least_1(max_sge) * sizeof(struct usiw_sge));
}

/* @lent: rnic_ring_slots_size() octets, aligned to a cache line, with any
 * content; NULL: allocate them.  mem->shm is set.  Return: as
 * rnic_shm_alloc(). */
int rnic_ring_alloc(struct usiw_ring *ring, struct rnic_ring_mem *mem,
		    uint32_t depth, uint32_t stride, void *lent);

/* Also for a ring that was not allocated. */
void rnic_ring_free(const struct usiw_ring *ring,
		    const struct rnic_ring_mem *mem);

/* The new slots; after rnic_ring_swap() the old ones. */
struct rnic_ring_swap {
	uint32_t depth;
	void *slots; /* NULL: they stay where they are */
	size_t size; /* 0: behind the header */
	bool is_lent;
};

/* Before the lead.  Return: as rnic_shm_alloc(). */
int rnic_ring_swap_begin(const struct usiw_ring *ring,
			 const struct rnic_ring_mem *mem, uint32_t depth,
			 void *lent, struct rnic_ring_swap *ret_swap);

/* Under the lead, and with the application's side of the ring locked.  Return:
 * false: the ring has more entries than fit. */
bool rnic_ring_swap(struct usiw_ring *ring, struct rnic_ring_mem *mem,
		    struct rnic_ring_swap *swap);

/* After the lead, in any case: frees the slots that are not used any more, or
 * were not put to use.  Lent slots are the caller's. */
void rnic_ring_swap_end(const struct usiw_ring *ring, struct rnic_ring_mem *mem,
			const struct rnic_ring_swap *swap);

#endif
