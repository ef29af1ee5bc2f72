/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Registered memory of the library: Private Buffers of one size in slabs, for
 * receiving and for sending.
 */
#ifndef SDP_POOL_H
#define SDP_POOL_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/lock.h"

/* The object that a cookie of the protocol core points to. */
struct sdp_mem {
	uint8_t *base;
	uint32_t lkey;
	uint32_t len;
};

struct sdp_slab;

/* A Private Buffer. @mem is the first member, because its address is the
 * cookie. */
struct sdp_pbuf {
	struct sdp_mem mem;
	struct sdp_slab *slab;
	struct sdp_pbuf *next;
	uint32_t filled; /* sending: octets in the buffer */
	uint32_t given;	 /* sending: octets that the core was told about */
	struct ibv_sge sge;
	struct ibv_recv_wr wr;
};

struct sdp_pool {
	struct util_lock lock; /* UTIL_RANK_SDP_POOL */
	struct ibv_pd *pd;
	uint32_t buf_size;
	int access;		/* of ibv_reg_mr() */
	struct sdp_slab *slabs; /* slabs with free buffers first */
	uint64_t used;		/* octets in allocated buffers */
	uint32_t empty_cnt;	/* slabs without allocated buffers */
};

/* @is_on_demand: register memory that need not exist before it is used. */
void sdp_pool_init(struct sdp_pool *pool, struct ibv_pd *pd, uint32_t buf_size,
		   bool is_on_demand);

/* Return: NULL: out of memory, or registration failed; see errno. */
struct sdp_pbuf *sdp_pool_get(struct sdp_pool *pool);
/* Any lock may be held. */
void sdp_pool_put(struct sdp_pool *pool, struct sdp_pbuf *buf);

static inline struct sdp_pbuf *sdp_pbuf_of(struct sdp_mem *mem)
{
	return (struct sdp_pbuf *)mem;
}

#endif
