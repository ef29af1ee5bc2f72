/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The memory of two rings: made by one end, checked and mapped by the other. */
#include "memory.h"

#include <sys/mman.h>

#include "ring.h"
#include "sealed.h"

_Static_assert(2 * sizeof(struct rnic_ring_shared) <= RNIC_LOCAL_SHARED_SIZE,
	       "both fit in front of the octets");

int rnic_local_memory_new(void)
{
	return rnic_sealed_new(RNIC_LOCAL_MEMORY_SIZE);
}

int rnic_local_memory_check(int fd)
{
	return rnic_sealed_check(fd, RNIC_LOCAL_MEMORY_SIZE);
}

int rnic_local_memory_map(int fd, void **ret_mem)
{
	return rnic_sealed_map(fd, RNIC_LOCAL_MEMORY_SIZE, ret_mem);
}

void rnic_local_memory_unmap(void *mem)
{
	munmap(mem, RNIC_LOCAL_MEMORY_SIZE);
}

void rnic_local_memory_divide(void *mem, bool is_active,
			      struct rnic_ring *ret_tx,
			      struct rnic_ring *ret_rx)
{
	struct rnic_ring_shared *shared = mem;
	uint8_t *data = (uint8_t *)mem + RNIC_LOCAL_SHARED_SIZE;
	int tx = is_active ? 0 : 1;

	rnic_ring_init(ret_tx, &shared[tx], data + tx * RNIC_RING_SIZE);
	rnic_ring_init(ret_rx, &shared[1 - tx],
		       data + (1 - tx) * RNIC_RING_SIZE);
}
