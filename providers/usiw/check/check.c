/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See check.h. */
#define _GNU_SOURCE
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "hooks.h"
#include "rnic/os/rnic-watch.h"
#include "reason.h"
#include "taken.h"
#include "wr.h"

const struct verbs_ops *usiw_check_real;

static bool is_on;
static struct verbs_ops checked_ops;

/* ---- what is left at the end ------------------------------------------- */

static const char *const kind_names[USIW_CHECK_KIND_CNT] = {
	[USIW_CHECK_PD] = "a protection domain",
	[USIW_CHECK_MR] = "a memory region",
	[USIW_CHECK_CQ] = "a CQ",
	[USIW_CHECK_SRQ] = "an SRQ",
	[USIW_CHECK_QP] = "a QP",
	[USIW_CHECK_MW] = "a memory window",
	[USIW_CHECK_AH] = "an address handle",
};

static void leak_note(struct usiw_check_object *obj)
{
	/* librdmacm keeps a domain of each device. */
	if (obj->kind == USIW_CHECK_PD &&
	    usiw_check_stack_is_by(&obj->made, "librdmacm"))
		return;
	usiw_check_report(USIW_CHECK_LEAKED,
			  USIW_CHECK_PLACES({ "made", &obj->made }),
			  "%s is left at exit", kind_names[obj->kind]);
}

static __attribute__((destructor)) void process_ends(void)
{
	if (!is_on)
		return;
	usiw_check_lock();
	usiw_check_each(leak_note);
	usiw_check_report_close();
	usiw_check_taken_forget();
	usiw_check_unlock();
}

/* ---- reasons ----------------------------------------------------------- */

static _Thread_local char reason[256];

void usiw_check_reason_clear(void)
{
	reason[0] = '\0';
}

const char *usiw_check_reason(void)
{
	return reason;
}

static void reason_note(const char *text)
{
	snprintf(reason, sizeof(reason), "%s", text);
}

/* ---- what the RNIC sees ------------------------------------------------ */

static const char *right_name(uint32_t access)
{
	if (access & RNIC_ACCESS_REMOTE_WRITE)
		return "IBV_ACCESS_REMOTE_WRITE";
	return access & RNIC_ACCESS_REMOTE_READ ? "IBV_ACCESS_REMOTE_READ"
						: "IBV_ACCESS_REMOTE_ATOMIC";
}

/* What the region lacks; else it is the QP.  @is_gone: it was
 * deregistered. */
static void fault_text(const struct rnic_access_refused *what,
		       const struct usiw_check_qp *qp,
		       const struct usiw_check_mr *mr, bool is_gone, char *text,
		       size_t size)
{
	if (is_gone)
		snprintf(text, size,
			 "no region or window has this key any more: it was "
			 "deregistered");
	else if (!mr) /* Windows are known to the RNIC only. */
		snprintf(text, size, "%s", what->why);
	else if (mr->pd != qp->sq.pd)
		snprintf(text, size,
			 "the region is of another protection domain than the "
			 "QP");
	else if (!(mr->access & what->access))
		snprintf(text, size, "the region was registered without %s",
			 right_name(what->access));
	else if (what->addr < mr->iova || what->addr - mr->iova > mr->len ||
		 what->len > mr->len - (what->addr - mr->iova))
		snprintf(text, size,
			 "the region has the %llu octets from 0x%llx on",
			 (unsigned long long)mr->len,
			 (unsigned long long)mr->iova);
	else
		snprintf(text, size, "qp_access_flags of the QP lack %s",
			 right_name(what->access));
}

static void access_refused(const struct rnic_access_refused *what)
{
	static const struct usiw_check_stack none;
	const struct usiw_check_stack *gone;
	const struct usiw_check_mr *mr;
	const struct usiw_check_qp *qp;
	char why[128];

	usiw_check_lock();
	qp = usiw_check_find_num(USIW_CHECK_QP, NULL, what->qp_num);
	if (qp) {
		mr = usiw_check_find_num(USIW_CHECK_MR, qp->obj.context,
					 what->rkey);
		gone = mr ? NULL
			  : usiw_check_mr_find_gone(qp->obj.context,
						    what->rkey);
		fault_text(what, qp, mr, gone, why, sizeof(why));
		usiw_check_report(
			USIW_CHECK_ACCESS_REFUSED,
			USIW_CHECK_PLACES(
				{ "region made", mr ? &mr->obj.made : &none },
				{ "region deregistered", gone ? gone : &none },
				{ "QP made", &qp->obj.made }),
			"QP 0x%06x: the peer's access to %llu octets at 0x%llx "
			"by rkey 0x%08x is refused: %s",
			qp->obj.num, (unsigned long long)what->len,
			(unsigned long long)what->addr, what->rkey, why);
	}
	usiw_check_unlock();
}

/* ---- beginning --------------------------------------------------------- */

static void send_held(uint32_t qp_num)
{
	struct usiw_check_qp *qp;

	usiw_check_lock();
	qp = usiw_check_find_num(USIW_CHECK_QP, NULL, qp_num);
	if (qp)
		usiw_check_recv_lost(qp, NULL);
	usiw_check_unlock();
}

static const struct rnic_watcher watcher = {
	.access_refused = access_refused,
	.terminated = usiw_check_terminated,
	.send_held = send_held,
	.reason = reason_note,
	.chan_read = usiw_check_chan_read,
};

static void fork_child(void)
{
	usiw_check_shadow_forget();
	usiw_check_wr_forget();
	usiw_check_taken_forget();
	usiw_check_report_forget();
	usiw_check_wakeup_forget();
}

const struct verbs_ops *usiw_check_start(const struct verbs_ops *ops)
{
	is_on = usiw_check_report_open();
	if (!is_on)
		return ops;
	usiw_check_stack_init();
	usiw_check_taken_start();
	(void)pthread_atfork(NULL, NULL, fork_child);
	rnic_watch(&watcher);
	util_reason_watch(reason_note);
	checked_ops = *ops;
	usiw_check_hook_mem(&checked_ops);
	usiw_check_hook_cq(&checked_ops);
	usiw_check_hook_qp(&checked_ops);
	usiw_check_hook_post(&checked_ops);
	usiw_check_hook_event(&checked_ops);
	usiw_check_real = ops;
	return &checked_ops;
}
