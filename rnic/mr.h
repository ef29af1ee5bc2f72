/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Protection domains, memory regions and the table of STags of a context.
 *
 * STag = 24-bit index << 8 | 8-bit key.  Indices are drawn at random, one that
 * was given back rests for a long time, and comes again with another key.
 */
#ifndef RNIC_MR_H
#define RNIC_MR_H

#include <stdatomic.h>

#include "../util/lock.h"
#include "rnic.h"

struct rnic_context;
struct rnic_mr_leaf;

#define RNIC_MR_LEAF_BITS 8
#define RNIC_MR_INDEX_BITS 24
#define RNIC_MR_LEAF_CNT (1u << (RNIC_MR_INDEX_BITS - RNIC_MR_LEAF_BITS))

struct rnic_pd {
	struct rnic_context *ctx;
	_Atomic uint32_t user_cnt; /* MRs, QPs, SRQs */
	uint32_t fork_gen;
};

struct rnic_mr {
	struct rnic_pd *pd;
	uint8_t *addr;
	size_t len;
	uint64_t iova; /* iova + len does not wrap */
	uint32_t access;
	uint32_t stag;
	uint32_t fork_gen;
	_Atomic bool is_invalidated; /* by the peer: SEND_WITH_INV */
};

struct rnic_mr_table {
	_Atomic(struct rnic_mr_leaf *) *leaves; /* RNIC_MR_LEAF_CNT */
	_Atomic uint32_t pd_cnt;
	struct util_lock lock; /* rank MR_TABLE; guards the rest */
	uint32_t mr_cnt;
	uint32_t free_seq;   /* counts indices given back */
	uint8_t random[240]; /* from the kernel, used front to back */
	uint32_t random_used;
};

/* What rnic_mr_resolve() found; inbound.c and sq.c map it to wire and CQE. */
enum rnic_mr_verdict {
	RNIC_MR_OK = 0,
	RNIC_MR_BAD_STAG,   /* no such region, wrong key, invalidated */
	RNIC_MR_BAD_PD,	    /* belongs to another protection domain */
	RNIC_MR_BAD_ACCESS, /* the region does not allow it */
	RNIC_MR_WRAP,	    /* address + length exceeds 64 bits */
	RNIC_MR_BAD_BOUNDS, /* not wholly inside */
};

int rnic_mr_table_init(struct rnic_mr_table *table)
	__attribute__((warn_unused_result)); /* -ENOMEM */

/* Frees regions that the application forgot.  Engine stopped. */
void rnic_mr_table_fini(struct rnic_mr_table *table);

/**
 * Judge an access to registered memory: the only place that does.
 *
 * @len: at least 1 (an access without octets needs no STag: the caller's).
 * @access: enum rnic_access bits, all of which must be allowed; 0: local read.
 * @ret_ptr: where the octets lie; set on RNIC_MR_OK only, valid until the lead
 *   is given up.
 *
 * RDMAP-64, DDP-52.  Faults are looked for in the order of the enum.
 * Context: under the lead of the context's engine, for which
 * rnic_mr_dereg() waits; takes no lock.
 */
enum rnic_mr_verdict rnic_mr_resolve(struct rnic_mr_table *table,
				     const struct rnic_pd *pd, uint32_t stag,
				     uint64_t addr, size_t len, uint32_t access,
				     void **ret_ptr)
	__attribute__((warn_unused_result));

/**
 * SEND_WITH_INV or LOCAL_INV: from now on the STag is invalid.
 *
 * Return: RNIC_MR_OK; RNIC_MR_BAD_STAG; RNIC_MR_BAD_PD; RNIC_MR_BAD_ACCESS:
 *   the region was never open to a peer (@is_remote only).
 * Context: as rnic_mr_resolve().
 */
enum rnic_mr_verdict rnic_mr_invalidate(struct rnic_mr_table *table,
					const struct rnic_pd *pd, uint32_t stag,
					bool is_remote)
	__attribute__((warn_unused_result));

#endif
