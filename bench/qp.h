/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Queue pairs of one device that are connected with each other, by
 * ibv_modify_qp(). */
#ifndef BENCH_QP_H
#define BENCH_QP_H

#include <infiniband/verbs.h>

/* A queue pair in the state INIT, both of whose queues complete into @cq. The
 * peer may write to memory. A failure ends the program. */
struct ibv_qp *bench_qp_new(struct ibv_pd *pd, struct ibv_cq *cq,
			    const struct ibv_qp_cap *cap);

/* To RTR and RTS. @gid: that of the device. */
void bench_qp_connect(struct ibv_qp *qp, const struct ibv_qp *peer,
		      const union ibv_gid *gid);

#endif
