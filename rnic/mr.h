/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Protection domains, memory regions, and the one judge of accesses. */
#ifndef RNIC_MR_H
#define RNIC_MR_H

#include "mr-table.h"

struct rnic_context;

#define RNIC_MR_ACCESS_REMOTE                                                  \
	(RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ |                  \
	 RNIC_ACCESS_REMOTE_ATOMIC)

struct rnic_pd {
	struct rnic_context *ctx;
	_Atomic uint32_t user_cnt; /* MRs, windows, QPs, SRQs */
	_Atomic uint32_t fork_gen; /* in whose life it was used last */
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

/* -EINVAL: rights that do not exist, or not without others. */
int rnic_mr_check_access(uint32_t access) __attribute__((warn_unused_result));

/* A region like @shape (its kind, place, rights, @dm) in the table; what may
 * be wrong with it has been looked at.  Return: 0; -ENOMEM; -EAGAIN. */
int rnic_mr_add(struct rnic_pd *pd, const struct rnic_mr *shape,
		struct rnic_mr **ret_mr) __attribute__((warn_unused_result));

/*
 * Bring the pages in as pinning would, which also proves that they may be
 * read or written.  Kernels before 5.14 cannot say more than "mapped".
 * Return: 0; -EFAULT; -ENOMEM.
 */
int rnic_mr_populate(void *addr, size_t len, bool is_written)
	__attribute__((warn_unused_result));

/* All memory there is, by its addresses? */
static inline bool rnic_mr_is_implicit(const void *addr, size_t len,
				       uint32_t access)
{
	return access & RNIC_ACCESS_ON_DEMAND && !addr && len == SIZE_MAX;
}

/* Rights and bounds, whoever asks: the last part of rnic_mr_resolve(). */
static inline enum rnic_mr_verdict rnic_mr_judge(const struct rnic_mr *mr,
						 uint64_t addr, size_t len,
						 uint32_t access,
						 void **ret_ptr)
{
	uint64_t off;

	if ((mr->access & access) != access)
		return RNIC_MR_BAD_ACCESS;
	if (len > UINT64_MAX - addr)
		return RNIC_MR_WRAP;
	if (addr < mr->iova)
		return RNIC_MR_BAD_BOUNDS;
	off = addr - mr->iova;
	if (off > mr->len || len > mr->len - off)
		return RNIC_MR_BAD_BOUNDS;
	/* Not by its pointer, which is NULL for all memory there is. */
	*ret_ptr = (void *)((uintptr_t)mr->addr + off);
	return RNIC_MR_OK;
}

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
 * LOCAL_INV: from now on the STag is invalid, as an rkey and as an lkey.
 *
 * Return: RNIC_MR_OK; RNIC_MR_BAD_STAG; RNIC_MR_BAD_PD.
 * Context: as rnic_mr_resolve().
 */
enum rnic_mr_verdict rnic_mr_invalidate(struct rnic_mr_table *table,
					const struct rnic_pd *pd, uint32_t stag)
	__attribute__((warn_unused_result));

#endif
