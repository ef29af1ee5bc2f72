/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Memory windows: a part of a region with a separate STag. Work requests open
 * it to peers and close it again.
 *
 * Type 1 belongs to a protection domain. The peer of any QP of the domain may
 * use it, and binding it again ends the previous binding. Type 2 belongs, while
 * it is bound, to the QP that bound it (2B: its domain and this one QP).
 * LOCAL_INV of that QP or SEND_WITH_INV of its peer closes it.
 *
 * Everything here except alloc and dealloc runs under the lead of the QP's
 * engine, or of all engines, where its comment says so.
 */
#ifndef RNIC_MW_H
#define RNIC_MW_H

#include "access.h"

struct rnic_mw_bind {
	uint32_t stag;	 /* the index is the window's, the key the new one */
	uint32_t lkey;	 /* of the region */
	uint64_t addr;	 /* first octet, in the addresses of the region */
	uint64_t len;	 /* 0: bound to nothing (type 1) */
	uint64_t access; /* enum rnic_access: remote rights, ZERO_BASED */
};

/*
 * BIND_MW. Return: false: no such window or region, not of the QP's domain,
 * rights or octets that the region does not have, or a window of type 2 that is
 * bound; nothing changed. Afterwards the QP's own stream may have
 * ended, if its peer was using the previous binding of a window of type 1.
 * Under all leads.
 */
bool rnic_mw_bind(struct rnic_mw_owner *owner, const struct rnic_mw_bind *bind)
	__attribute__((warn_unused_result));

/*
 * LOCAL_INV, and SEND_WITH_INV of the peer (@is_remote): makes the STag
 * invalid. Streams that were using it have ended, perhaps the QP's own.
 *
 * A peer may invalidate only a window of type 2 that the QP has bound, because
 * that belongs to its stream. LOCAL_INV accepts a region as well, as in iWARP
 * verbs, unless windows are bound to it. A window of type 1 cannot be
 * invalidated; it can be bound to nothing.
 * Return: RNIC_MR_OK; else the error, nothing changed. A region: under all
 * leads.
 */
enum rnic_access_check rnic_mw_invalidate(struct rnic_mw_owner *owner,
					  uint32_t stag, bool is_remote)
	__attribute__((warn_unused_result));

/* Does BIND_MW, or LOCAL_INV, of that STag need the leads of all engines, and
 * the thread has not got them? */
bool rnic_mw_needs_all(const struct rnic_mw_owner *owner, uint32_t stag,
		       bool is_bind);

/* The QP is destroyed, or may get another peer: unbinds windows of type 2 that
 * it has bound. */
void rnic_mw_owner_gone(struct rnic_mw_owner *owner);

/* The part of rnic_mw_resolve() for windows. */
enum rnic_access_check rnic_mw_resolve_window(const struct rnic_mw_owner *owner,
					      uint32_t stag, uint64_t addr,
					      size_t len, uint32_t access,
					      void **ret_ptr)
	__attribute__((warn_unused_result));

/*
 * As rnic_mr_resolve(), for an STag that the peer names, which may belong to a
 * window. For rnic_mr_resolve() a window belongs to no domain. So a window's
 * STag is never an lkey, and a region is checked as if there were no windows.
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
