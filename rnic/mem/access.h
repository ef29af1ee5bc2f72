/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The access check: may these octets of registered memory be read or written?
 * All accesses are checked here, and nowhere else.
 */
#ifndef RNIC_ACCESS_H
#define RNIC_ACCESS_H

#include "mr-table.h"

#define RNIC_MR_ACCESS_REMOTE                                                  \
	(RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ |                  \
	 RNIC_ACCESS_REMOTE_ATOMIC)

/* Results of an access check. inbound.c and sq.c map them to the wire and to
 * CQEs. */
enum rnic_access_check {
	RNIC_MR_OK = 0,
	RNIC_MR_BAD_STAG,   /* no such region, wrong key, invalidated */
	RNIC_MR_BAD_PD,	    /* belongs to another protection domain */
	RNIC_MR_BAD_ACCESS, /* the region does not allow it */
	RNIC_MR_WRAP,	    /* address + length exceeds 64 bits */
	RNIC_MR_BAD_BOUNDS, /* not wholly inside */
};

/* Why not, for log lines. */
const char *rnic_access_str(enum rnic_access_check check);

/* Rights and bounds of an entry: the last part of rnic_mr_resolve(). */
static inline enum rnic_access_check rnic_mr_check(const struct rnic_mr *mr,
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
	/* Not computed from its pointer, which is NULL for an implicit
	 * region. */
	*ret_ptr = (void *)((uintptr_t)mr->addr + off);
	return RNIC_MR_OK;
}

/**
 * Checks an access to registered memory.
 *
 * @len: at least 1. An access without octets needs no STag; the caller handles
 *   it.
 * @access: enum rnic_access bits, all of which must be allowed; 0: local read.
 * @ret_ptr: the place of the octets; set only on RNIC_MR_OK, valid until the
 *   lead is given up.
 *
 * RDMAP-64, DDP-52. Faults are checked in the order of the enum.
 * Context: under the lead of an engine of the context; rnic_mr_dereg() waits
 *   for all of them. Takes no lock.
 */
enum rnic_access_check rnic_mr_resolve(struct rnic_mr_table *table,
				       const struct rnic_pd *pd, uint32_t stag,
				       uint64_t addr, size_t len,
				       uint32_t access, void **ret_ptr)
	__attribute__((warn_unused_result));

/**
 * LOCAL_INV: makes the STag invalid, as an rkey and as an lkey.
 *
 * Return: RNIC_MR_OK; RNIC_MR_BAD_STAG; RNIC_MR_BAD_PD.
 * Context: under all leads.
 */
enum rnic_access_check rnic_mr_invalidate(struct rnic_mr_table *table,
					  const struct rnic_pd *pd,
					  uint32_t stag)
	__attribute__((warn_unused_result));

/* The largest access to a null region. */
static inline size_t rnic_null_mr_size(void)
{
	return rnic_limits()->max_msg_size;
}

#endif
