/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The rdma_cm file seen from its own rooms: ucm.c (command table),
 * ucm-query.c (answers about an identity), ucm-path.c (those about its path),
 * ucm-event.c (events), ucm-user.c (memory that the application names).
 */
#ifndef KABI_UCM_H
#define KABI_UCM_H

#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>

#include "kabi.h"

struct kabi_ucm {
	struct util_file file; /* first: the fd table names it */
	struct rnic_cm_chan *chan;
};

/* What a handler gets: the command's copy and how long either side is. */
struct kabi_ucm_call {
	const void *cmd; /* zeros follow a short one */
	size_t out;	 /* octets that the answer's place has */
};

/* ---- ucm-user.c ---------------------------------------------------------- */

/*
 * Copy between us and an address that the application named.  A bad address
 * costs an errno, never a signal.
 * Return: 0; -EFAULT.
 */
int kabi_user_get(void *dst, uint64_t src, size_t len)
	__attribute__((warn_unused_result));
int kabi_user_put(uint64_t dst, const void *src, size_t len)
	__attribute__((warn_unused_result));

/* ---- ucm-query.c --------------------------------------------------------- */

int kabi_ucm_query_route(struct kabi_ucm *file,
			 const struct kabi_ucm_call *call);
int kabi_ucm_query(struct kabi_ucm *file, const struct kabi_ucm_call *call);
int kabi_ucm_init_qp_attr(struct kabi_ucm *file,
			  const struct kabi_ucm_call *call);

/* ---- ucm-path.c ---------------------------------------------------------- */

/* What there is no choice of, as InfiniBand's manager answers it. */
#define KABI_UCM_HOP_LIMIT 64
#define KABI_UCM_TIMEOUT 20 /* four seconds */

/* As in the device's GID table: IPv6, or IPv4 mapped; else zeros. */
void kabi_ucm_gid(const struct sockaddr_storage *addr, void *gid);
/* Octets of the interface's MTU -> InfiniBand's number of what fits in. */
uint32_t kabi_ucm_mtu(uint32_t octets);
/* What InfiniBand's manager calls the port of an address. */
uint64_t kabi_ucm_sid_be(const struct sockaddr_storage *addr);
/* The route of an identity that has a device: GIDs, or the path record.
 * Return: 0; -errno. */
int kabi_ucm_route(const struct rnic_cm_info *info,
		   struct rdma_ucm_query_route_resp *resp);
int kabi_ucm_query_path(const struct rnic_cm_info *info,
			const struct kabi_ucm_call *call);

/* ---- ucm-event.c --------------------------------------------------------- */

int kabi_ucm_get_event(struct kabi_ucm *file, const struct kabi_ucm_call *call);

#endif
