/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Memory windows: a part of a region under an STag of its own, opened to
 * peers and closed again by work requests.
 *
 * Type 1 belongs to a protection domain: the peer of any QP there may use it,
 * and another binding takes it away from the last.  Type 2 belongs, while it
 * is bound, to the QP that bound it (2B: its domain and this one QP), and is
 * closed by LOCAL_INV there or by that peer's SEND_WITH_INV.
 *
 * Everything here but making and freeing one runs under the lead.
 */
#ifndef RNIC_MW_H
#define RNIC_MW_H

#include "access.h"

struct rnic_mw_bind {
	uint32_t stag;	 /* the index is the window's, the key the new one */
	uint32_t lkey;	 /* of the region */
	uint64_t addr;	 /* first octet, as the region is addressed */
	uint64_t len;	 /* 0: bound to nothing (type 1) */
	uint64_t access; /* enum rnic_access: remote rights, ZERO_BASED */
};

/*
 * BIND_MW.  Return: 0; -EINVAL: no such window or region, not of the QP's
 * domain, rights or octets that the region does not have, a window of type 2
 * that is bound; nothing changed.  The QP's own stream may be gone then: the
 * peer was using what a window of type 1 has been bound to before.
 */
int rnic_mw_bind(struct rnic_mw_owner *owner, const struct rnic_mw_bind *bind)
	__attribute__((warn_unused_result));

/*
 * LOCAL_INV, and SEND_WITH_INV of the peer (@is_remote): from now on the STag
 * is invalid; streams that were using it have ended, perhaps the QP's own.
 *
 * A peer may invalidate what belongs to its stream alone: a window of type 2
 * that the QP has bound.  LOCAL_INV takes a region as well, as with iWARP
 * verbs, unless windows are bound to it.  A window of type 1 cannot be
 * invalidated; it is bound to nothing instead.
 * Return: RNIC_MR_OK; else what is wrong, nothing changed.
 */
enum rnic_access_check rnic_mw_invalidate(struct rnic_mw_owner *owner,
					  uint32_t stag, bool is_remote)
	__attribute__((warn_unused_result));

/* The QP goes, or may get another peer: windows of type 2 that it has bound
 * are bound no more. */
void rnic_mw_owner_gone(struct rnic_mw_owner *owner);

/* The part of rnic_mw_resolve() that is about windows. */
enum rnic_access_check rnic_mw_resolve_window(const struct rnic_mw_owner *owner,
					      uint32_t stag, uint64_t addr,
					      size_t len, uint32_t access,
					      void **ret_ptr)
	__attribute__((warn_unused_result));

/*
 * As rnic_mr_resolve(), for an STag that the peer names, which may be a
 * window's. To rnic_mr_resolve() a window is of no domain: no lkey is ever a
 * window's, and a region is checked as if there were none.
 */
static inline enum rnic_access_check
rnic_mw_resolve(const struct rnic_mw_owner *owner, uint32_t stag, uint64_t addr,
		size_t len, uint32_t access, void **ret_ptr)
{
	enum rnic_access_check check = rnic_mr_resolve(&owner->pd->ctx->mrs,
						       owner->pd, stag, addr,
						       len, access, ret_ptr);

	if (__builtin_expect(check != RNIC_MR_BAD_PD, 1))
		return check;
	return rnic_mw_resolve_window(owner, stag, addr, len, access, ret_ptr);
}

#endif
