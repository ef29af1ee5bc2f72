/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The rdma_cm file seen from its own rooms: ucm.c (command table),
 * ucm-query.c (answers about an identity), ucm-event.c (events), ucm-user.c
 * (memory that the application names).
 */
#ifndef KABI_UCM_H
#define KABI_UCM_H

#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>

#include "kabi.h"

struct kabi_ucm {
	struct rnic_cm_chan *chan;
	int fd;
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

/* ---- ucm-event.c --------------------------------------------------------- */

int kabi_ucm_get_event(struct kabi_ucm *file, const struct kabi_ucm_call *call);

#endif
