/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a ring lies in.  Header and indices are always ours; the slots follow
 * them, or lie apart, since they were moved or the caller has lent them.
 */
#ifndef RNIC_RING_MEM_H
#define RNIC_RING_MEM_H

#include "../../abi/usiw-ring.h"
#include "os/shm.h"

struct rnic_ring_mem {
	struct rnic_shm *shm;
	size_t size;	   /* of the memory that begins with the header */
	size_t slots_size; /* of slots of ours apart from it; 0: none */
	bool is_lent;	   /* the slots are the caller's */
};

/* Octets of the slots of a ring of @depth entries. */
size_t rnic_ring_slots_size(uint32_t depth, uint32_t stride);

/* @lent: rnic_ring_slots_size() octets, cache-line aligned, of any content;
 * NULL: ours.  mem->shm is set.  Return: as rnic_shm_alloc(). */
int rnic_ring_alloc(struct usiw_ring *ring, struct rnic_ring_mem *mem,
		    uint32_t depth, uint32_t stride, void *lent);

/* A ring that never was is fine. */
void rnic_ring_free(const struct usiw_ring *ring,
		    const struct rnic_ring_mem *mem);

/* Slots on their way in, and after rnic_ring_swap() those on their way out. */
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

/* Under the lead, the caller's side kept out.  Return: 0; -EINVAL: more
 * entries are in it. */
int rnic_ring_swap(struct usiw_ring *ring, struct rnic_ring_mem *mem,
		   struct rnic_ring_swap *swap);

/* After the lead, whatever came of it: gives back what is no longer used, or
 * never was; what was lent is the caller's. */
void rnic_ring_swap_end(const struct usiw_ring *ring, struct rnic_ring_mem *mem,
			const struct rnic_ring_swap *swap);

#endif
