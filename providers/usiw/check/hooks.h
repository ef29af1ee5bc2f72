/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The functions that stand in the place of verbs, by object. */
#ifndef USIW_CHECK_HOOKS_H
#define USIW_CHECK_HOOKS_H

#include "objects.h"
#include "rnic/os/rnic-watch.h"
#include "report.h"
#include "shadow.h"

/* The verbs themselves. */
extern const struct verbs_ops *usiw_check_real;

/* What tells protection domains apart: a parent domain is as its base. */
static inline const void *usiw_check_pd(struct ibv_pd *pd)
{
	return usiw_pd(pd)->rnic;
}

/* Each puts its functions into @ops. */
void usiw_check_hook_mem(struct verbs_ops *ops);
void usiw_check_hook_cq(struct verbs_ops *ops);
void usiw_check_hook_qp(struct verbs_ops *ops);
void usiw_check_hook_post(struct verbs_ops *ops);
void usiw_check_hook_event(struct verbs_ops *ops);

/* ibv_wr_complete() of a QP that is new. */
void usiw_check_hook_wr(struct ibv_qp_ex *qpx);

/* The depth of a CQ against that of its queues; @cnt more come. */
void usiw_check_cq_depth(struct usiw_check_cq *cq, uint32_t cnt);

/* Reports that no receive was posted since RESET, once.  @label: of the calling
 * thread's stack; NULL: it is none of the program's. */
void usiw_check_recv_lost(struct usiw_check_qp *qp, const char *label);

/* The QP is destroyed: a WR that was refused with ENOMEM is lost. */
void usiw_check_full_end(struct usiw_check_queue *queue,
			 const struct usiw_check_qp *qp);

/* Before an object ends: reports it if the program has not acknowledged as many
 * of its events as it has read, and does not do it soon.  @is_async: false:
 * completion events.  @acked: the library's counter. */
void usiw_check_acks(enum usiw_check_kind kind, const void *ptr, bool is_async,
		     const uint32_t *acked);

/* A completion with an error: why. */
void usiw_check_explain(struct usiw_check_qp *qp, const struct ibv_wc *wc);
void usiw_check_terminated(const struct rnic_terminated *what);

/* rnic_chan_read() begins. */
void usiw_check_chan_read(const struct rnic_chan *chan);
/* A CQ was armed late: from now on a thread looks who waits for it. */
void usiw_check_wakeup_watch(void);
/* In a forked child: the thread is the parent's. */
void usiw_check_wakeup_forget(void);

/* Why the verb that this thread called last was refused; "": not known. */
void usiw_check_reason_clear(void);
const char *usiw_check_reason(void);

#endif
