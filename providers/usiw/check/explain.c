/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Completions with an error: what this side and the peer say of them. */
#include <stdio.h>

#include "hooks.h"

/* Has to be known before a completion is polled, and is by then. */
void usiw_check_terminated(const struct rnic_terminated *what)
{
	struct usiw_check_qp *qp;

	usiw_check_lock();
	qp = usiw_check_find_num(USIW_CHECK_QP, NULL, what->qp_num);
	if (qp) {
		qp->terminated.is_there = true;
		qp->terminated.what = *what;
	}
	usiw_check_unlock();
}

/* ---- what the peer says ------------------------------------------------ */

/* By layer, type and code of the TERMINATE (RFC 5040, 5041, 5044). */
static const struct {
	uint16_t code;
	const char *text;
} peer_texts[] = {
	{ 0x0000, "its CQ has overrun, or its device has failed" },
	{ 0x0100, "no region or window of it has this key" },
	{ 0x0101, "the octets are not all in its region" },
	{ 0x0102, "its region or queue pair does not allow this access" },
	{ 0x0103, "its region is of another protection domain than its QP" },
	{ 0x0104, "address and length exceed 64 bits" },
	{ 0x0109, "the key cannot be invalidated" },
	{ 0x0206, "its queue pair does not take this operation, or not so "
		  "many at a time" },
	{ 0x0207, "one of its own WRs has failed, or the address of an "
		  "atomic is not a multiple of 8" },
	{ 0x0208, "its device has failed" },
	{ 0x0209, "the key cannot be invalidated" },
	{ 0x1000, "it has no valid memory of its own for the message" },
	{ 0x1100, "no region or window of it has this key and allows this "
		  "access" },
	{ 0x1101, "the octets are not all in its region" },
	{ 0x1102, "its region is of another protection domain than its QP" },
	{ 0x1103, "address and length exceed 64 bits" },
	{ 0x1202, "it has posted no receive for the message, or granted fewer "
		  "READs and atomics" },
	{ 0x1205, "its receive is shorter than the message" },
	{ 0x2001, "its TCP connection is closed or lost" },
	{ 0x2002, "the CRC is wrong: the network has changed octets" },
};

static const char *peer_text(const struct rnic_terminated *what)
{
	for (size_t i = 0; i < sizeof(peer_texts) / sizeof(peer_texts[0]); i++)
		if (peer_texts[i].code == what->code)
			return peer_texts[i].text;
	return what->name;
}

static void peer_print(const struct rnic_terminated *what, char *text,
		       size_t size)
{
	char target[64] = "";

	if (what->has_target)
		snprintf(target, sizeof(target), " at 0x%llx by rkey 0x%08x",
			 (unsigned long long)what->addr, what->rkey);
	snprintf(text, size, "the peer refused %s%s%s: %s (TERMINATE 0x%04x)",
		 what->message ? "the " : "a message",
		 what->message ? what->message : "", target, peer_text(what),
		 what->code);
}

/* ---- what the status says ---------------------------------------------- */

static const char *status_text(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_LOC_LEN_ERR:
		return "the message was longer than the receive, or than the "
		       "QP can send";
	case IBV_WC_LOC_QP_OP_ERR:
		return "this side could not process the WR";
	case IBV_WC_LOC_PROT_ERR:
		return "this side has no region, range or right for an SGE of "
		       "the WR, or the memory is unmapped";
	case IBV_WC_MW_BIND_ERR:
		return "the region does not allow what the window asks for";
	case IBV_WC_REM_INV_REQ_ERR:
		return "the peer has no use for the request: its receive is too "
		       "small, or its QP does not take the operation";
	case IBV_WC_REM_ACCESS_ERR:
		return "the peer refused the access: its region with this rkey "
		       "is not there, does not have the right, or ends before";
	case IBV_WC_REM_OP_ERR:
		return "the peer could not complete the request: it has failed "
		       "itself, or a receive of it has";
	case IBV_WC_RETRY_EXC_ERR:
		return "the peer does not answer: it has ended, or the network "
		       "does not reach it";
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return "the peer has posted no receive in time";
	default:
		return "the connection has failed";
	}
}

/* What is flushed has no reason of its own, unless the peer has told one: a
 * Write is often complete before the peer refuses it. */
void usiw_check_explain(struct usiw_check_qp *qp, const struct ibv_wc *wc)
{
	struct usiw_check_stack here;
	char peer[320];

	if (qp->terminated.is_there)
		peer_print(&qp->terminated.what, peer, sizeof(peer));
	else if (wc->status == IBV_WC_WR_FLUSH_ERR)
		return;
	usiw_check_stack_take(&here);
	usiw_check_report(
		USIW_CHECK_COMPLETION_ERROR,
		USIW_CHECK_PLACES({ "completion polled", &here },
				  { "QP made", &qp->obj.made }),
		"QP 0x%06x: the WR with wr_id 0x%llx failed with "
		"status %d: %s",
		qp->obj.num, (unsigned long long)wc->wr_id, (int)wc->status,
		qp->terminated.is_there ? peer : status_text(wc->status));
	qp->terminated.is_there = false;
}
