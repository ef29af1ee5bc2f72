/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Registered memory of the library's own: Private Buffers of one size, taken
 * from slabs, for receiving and for sending alike.
 */
#ifndef SDP_POOL_H
#define SDP_POOL_H

#include <infiniband/verbs.h>
#include <stdint.h>

#include "lock.h"

/* What a cookie of the protocol core points at. */
struct sdp_mem {
	uint8_t *base;
	uint32_t lkey;
	uint32_t len;
};

struct sdp_slab;

/* A Private Buffer.  @mem is first: it is a cookie. */
struct sdp_pbuf {
	struct sdp_mem mem;
	struct sdp_slab *slab;
	struct sdp_pbuf *next;
	uint32_t filled; /* sending: octets in it */
	uint32_t given;	 /* sending: octets that the core has been told of */
	struct ibv_sge sge;
	struct ibv_recv_wr wr;
};

struct sdp_pool {
	struct util_lock lock; /* UTIL_RANK_SDP_POOL */
	struct ibv_pd *pd;
	uint32_t buf_size;
	struct sdp_slab *slabs; /* those with free buffers first */
	uint64_t bytes, used;	/* octets registered; in buffers given out */
	uint32_t empty_cnt;	/* slabs without a buffer given out */
};

void sdp_pool_init(struct sdp_pool *pool, struct ibv_pd *pd, uint32_t buf_size);

/* Everything has been given back, or is not asked for any more. */
void sdp_pool_fini(struct sdp_pool *pool);

/* Return: NULL: no memory, or it cannot be registered; errno says which. */
struct sdp_pbuf *sdp_pool_get(struct sdp_pool *pool);
void sdp_pool_put(struct sdp_pool *pool, struct sdp_pbuf *buf);

static inline struct sdp_pbuf *sdp_pbuf_of(struct sdp_mem *mem)
{
	return (struct sdp_pbuf *)mem;
}

#endif
