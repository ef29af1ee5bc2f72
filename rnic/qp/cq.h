/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Completion queues: the engine pushes, the provider polls. */
#ifndef RNIC_CQ_H
#define RNIC_CQ_H

#include <stdatomic.h>
#include <stdbool.h>

#include "os/chan.h"
#include "ring-mem.h"
#include "rnic.h"

struct rnic_cq {
	struct rnic_context *ctx;
	struct usiw_ring ring;
	struct rnic_ring_mem mem;
	struct rnic_chan *chan; /* NULL: none */
	struct rnic_chan_node comp_node;
	struct rnic_chan_node async_node;
	uint64_t handle;
	uint32_t flags;		   /* enum rnic_cq_flags */
	_Atomic uint32_t armed;	   /* enum rnic_cq_armed */
	_Atomic uint32_t user_cnt; /* QPs */
	_Atomic uint32_t look;	   /* enum rnic_cq_look */
	bool is_overrun;	   /* guarded by the lead; for good */
};

enum rnic_cq_armed {
	RNIC_CQ_NOT_ARMED,
	RNIC_CQ_ARM_SOLICITED,
	RNIC_CQ_ARM_ANY
};

/* Looks at the sockets by threads that sleep on them. */
enum rnic_cq_look {
	RNIC_CQ_LOOK_DUE, /* none since the last sleep */
	RNIC_CQ_LOOKED,
	RNIC_CQ_LOOK_VAIN, /* the next one is just before a sleep */
};

/*
 * Under the lead.  Return: 0; -ENOSPC: the CQ is overrun: the completion is
 * lost, CQ_ERR was raised, the QP must fail.  It takes no other after it, so
 * that what is in it has no gap, and all its QPs fail.  A CQ that ignores
 * overruns loses it with 0.
 */
int rnic_cq_push(struct rnic_cq *cq, const struct usiw_cqe *cqe);

/* Is the application waiting for any completion?  A hint, any thread. */
bool rnic_cq_is_awaited(const struct rnic_cq *cq);

/* Under the lead: wake who waits, though there is no completion. */
void rnic_cq_nudge(struct rnic_cq *cq);

#endif
