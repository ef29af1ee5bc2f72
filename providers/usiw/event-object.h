/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What an asynchronous event is about. */
#ifndef USIW_EVENT_OBJECT_H
#define USIW_EVENT_OBJECT_H

#include <infiniband/verbs.h>

/* The member of struct ibv_async_event, `element`. */
enum usiw_event_object {
	USIW_EVENT_PORT, /* or the device, or a kind that usiw does not have */
	USIW_EVENT_CQ,
	USIW_EVENT_QP,
	USIW_EVENT_SRQ,
};

static inline enum usiw_event_object usiw_event_object(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_CQ_ERR:
		return USIW_EVENT_CQ;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return USIW_EVENT_SRQ;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return USIW_EVENT_QP;
	default:
		return USIW_EVENT_PORT;
	}
}

#endif
