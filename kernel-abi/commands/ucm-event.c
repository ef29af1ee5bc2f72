/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* GET_EVENT: waits for an event of the file and encodes it for librdmacm. */
#include "commands/ucm-event.h"

#include <errno.h>
#include <rdma/rdma_user_cm.h>
#include <stddef.h>
#include <string.h>

#include "base/rnic-dl.h"
#include "base/user.h"
#include "commands/ucm-path.h"

_Static_assert(sizeof(struct rdma_ucm_event_resp) == 336, "event layout");
_Static_assert(KABI_UCM_EVENT_MIN == 324, "event layout");
_Static_assert(RNIC_CM_PD_MAX == RDMA_MAX_PRIVATE_DATA, "private data");

static void event_encode_ud(struct rdma_ucm_ud_param *ud,
			    const struct rnic_cm_event *ev)
{
	ud->qp_num = ev->qp_num;
	ud->qkey = ev->qkey;
	ud->private_data_len = ev->pd_len;
	memcpy(ud->private_data, ev->pd, ev->pd_len);
	/* Only an event that names a QP says how to reach it. */
	if (ev->qp_num)
		kabi_ucm_ah(&ud->ah_attr, ev->dgid, ev->gid_idx, ev->tclass);
}

static void event_encode(struct rdma_ucm_event_resp *resp,
			 const struct rnic_cm_event *ev)
{
	struct rdma_ucm_conn_param *conn = &resp->param.conn;

	memset(resp, 0, sizeof(*resp));
	resp->uid = ev->uid;
	resp->id = ev->id;
	resp->event = ev->type;
	resp->status = (__u32)ev->status;
	if (ev->type == RNIC_CM_USER || ev->type == RNIC_CM_INTERNAL) {
		memcpy(&resp->param, ev->pd, RNIC_CM_ARG_SIZE);
		return;
	}
	if (ev->is_ud) {
		event_encode_ud(&resp->param.ud, ev);
		return;
	}
	conn->qp_num = ev->qp_num;
	conn->responder_resources = ev->ird;
	conn->initiator_depth = ev->ord;
	conn->private_data_len = ev->pd_len;
	memcpy(conn->private_data, ev->pd, ev->pd_len);
}

/*
 * The address of the answer is checked before an event leaves the queue, so
 * that a bad address loses no event.
 */
int kabi_ucm_get_event(struct kabi_ucm *file, const struct kabi_ucm_call *call)
{
	const struct rdma_ucm_get_event *cmd = call->cmd;
	struct rdma_ucm_event_resp resp;
	struct rnic_cm_event ev;
	size_t len = call->out < sizeof(resp) ? call->out : sizeof(resp);
	int ret;

	memset(&resp, 0, sizeof(resp));
	ret = kabi_user_put(cmd->response, &resp, len);
	if (ret < 0)
		return ret;
	ret = kabi_rnic()->cm_get_event(file->chan, &ev);
	if (ret < 0)
		return ret;
	event_encode(&resp, &ev);
	return kabi_user_put(cmd->response, &resp, len);
}
