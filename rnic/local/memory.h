/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The memory of two rings: made by one end, checked and mapped by the other. */
#ifndef RNIC_LOCAL_MEMORY_H
#define RNIC_LOCAL_MEMORY_H

#include "object.h"

/* Octets of the memory: the shared parts, then the octets of either ring. */
#define RNIC_LOCAL_SHARED_SIZE 4096u
#define RNIC_LOCAL_MEMORY_SIZE (RNIC_LOCAL_SHARED_SIZE + 2u * RNIC_RING_SIZE)

/* As those of sealed.h, for memory of that size. */
int rnic_local_memory_new(void);
int rnic_local_memory_check(int fd);
int rnic_local_memory_map(int fd, void **ret_mem);
void rnic_local_memory_unmap(void *mem);

/* @is_active: this end sends on the first ring. */
void rnic_local_memory_divide(void *mem, bool is_active,
			      struct rnic_ring *ret_tx,
			      struct rnic_ring *ret_rx);

#endif
