/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The memory of rings: allocated, exchanged for another size, freed. */
#include "ring-mem.h"

#include "os/shm.h"

size_t rnic_ring_slots_size(uint32_t depth, uint32_t stride)
{
	return (size_t)usiw_ring_slot_cnt(depth) * stride;
}

int rnic_ring_alloc(struct usiw_ring *ring, struct rnic_ring_mem *mem,
		    uint32_t depth, uint32_t stride, void *lent)
{
	size_t size = lent ? sizeof(struct usiw_ring_hdr)
			   : usiw_ring_size(depth, stride);
	void *octets;
	int rc = rnic_shm_alloc(mem->shm, size, &octets);

	if (rc < 0)
		return rc;
	usiw_ring_init(ring, octets, depth, stride);
	mem->size = size;
	mem->is_lent = lent != NULL;
	if (lent)
		ring->slots = lent;
	return 0;
}

void rnic_ring_free(const struct usiw_ring *ring,
		    const struct rnic_ring_mem *mem)
{
	if (mem->slots_size)
		rnic_shm_free(mem->shm, ring->slots, mem->slots_size);
	rnic_shm_free(mem->shm, ring->hdr, mem->size);
}

int rnic_ring_swap_begin(const struct usiw_ring *ring,
			 const struct rnic_ring_mem *mem, uint32_t depth,
			 void *lent, struct rnic_ring_swap *ret_swap)
{
	*ret_swap = (struct rnic_ring_swap){
		.depth = depth,
		.slots = lent,
		.size = rnic_ring_slots_size(depth, ring->stride),
		.is_lent = lent != NULL,
	};
	/* Lent slots are given back, even if the new ones are as many. */
	if (lent ||
	    (!mem->is_lent && usiw_ring_slot_cnt(depth) == ring->mask + 1))
		return 0;
	return rnic_shm_alloc(mem->shm, ret_swap->size, &ret_swap->slots);
}

bool rnic_ring_swap(struct usiw_ring *ring, struct rnic_ring_mem *mem,
		    struct rnic_ring_swap *swap)
{
	struct rnic_ring_swap old = {
		.slots = ring->slots,
		.size = mem->slots_size,
		.is_lent = mem->is_lent,
	};

	if (usiw_ring_used(ring) > swap->depth)
		return false;
	if (!swap->slots) {
		ring->depth = swap->depth;
		return true;
	}
	usiw_ring_move(ring, swap->slots, swap->depth);
	mem->is_lent = swap->is_lent;
	mem->slots_size = swap->is_lent ? 0 : swap->size;
	*swap = old;
	return true;
}

void rnic_ring_swap_end(const struct usiw_ring *ring, struct rnic_ring_mem *mem,
			const struct rnic_ring_swap *swap)
{
	if (!swap->slots || swap->is_lent)
		return;
	if (swap->size)
		rnic_shm_free(mem->shm, swap->slots, swap->size);
	else
		mem->size = rnic_shm_trim(mem->shm, ring->hdr, mem->size,
					  sizeof(*ring->hdr));
}
