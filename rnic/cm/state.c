/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The state of an identity, and what other processes see of it. */
#include "state.h"

#include "os/probe.h"
/* enum rdma_port_space */
#define PS_TCP 0x0106u

_Static_assert((int)RNIC_CM_S_LISTEN == (int)USIW_RES_IDS_LISTEN &&
		       (int)RNIC_CM_S_DISCONNECT ==
			       (int)USIW_RES_IDS_DISCONNECT,
	       "states");

bool cm_id_show_init(struct cm_id *id)
{
	struct usiw_res_id *res = rnic_res_take(USIW_RES_ID, 0);

	if (!res)
		return false;
	/* Numbers begin with 0. */
	res->head.id = cm_id_num(id);
	id->res = res;
	cm_id_show(id);
	return true;
}

void cm_id_show(const struct cm_id *id)
{
	struct usiw_res_id *res = id->res;

	rnic_res_open(&res->head);
	if (!res->state_ns || res->state != id->state)
		res->state_ns = rnic_res_now_ns();
	res->state = id->state;
	res->device = id->dev ? id->dev->num : 0;
	res->qp_num = id->qp_num;
	res->port_space = cm_id_is_ud(id) ? id->ud.ps : PS_TCP;
	rnic_res_set_addr(&res->local, &id->local);
	rnic_res_set_addr(&res->peer, &id->peer);
	res->backlog = id->listener.backlog;
	rnic_res_close(&res->head);
}

void cm_id_set_state(struct cm_id *id, cm_state state)
{
	if (UTIL_PROBE_IS_ON(cm_state))
		rnic_probe_cm_state(cm_id_num(id), id->state, state,
				    id->qp_num);
	id->state = state;
	cm_id_show(id);
}

void cm_id_show_fini(struct cm_id *id)
{
	rnic_res_give(USIW_RES_ID, id->res);
	id->res = NULL;
}
