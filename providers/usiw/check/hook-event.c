/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Events that the program reads and has to acknowledge. */
#include <inttypes.h>
#include <poll.h>

#include "util/cancel.h"
#include "event-object.h"
#include "hooks.h"

/* How long another thread has for its acknowledgement. */
#define ACK_TRIES 100
#define ACK_TRY_MS 10

/* Those that the program has read. */
static uint32_t read_cnt(const struct usiw_check_object *obj, bool is_async)
{
	return is_async ? obj->async_cnt
			: ((const struct usiw_check_cq *)obj)->event_cnt;
}

/* Acknowledgements that are missing; below 0: there are too many. */
static int32_t acks_missing(const struct usiw_check_object *obj, bool is_async,
			    const uint32_t *acked)
{
	return (int32_t)(read_cnt(obj, is_async) -
			 __atomic_load_n(acked, __ATOMIC_RELAXED));
}

static void acks_report(const struct usiw_check_object *obj, bool is_async,
			const uint32_t *acked)
{
	static const char *const names[USIW_CHECK_KIND_CNT] = {
		[USIW_CHECK_CQ] = "CQ",
		[USIW_CHECK_SRQ] = "SRQ",
		[USIW_CHECK_QP] = "QP",
	};
	struct usiw_check_stack here;

	usiw_check_stack_take(&here);
	usiw_check_report(USIW_CHECK_EVENT_NOT_ACKED,
			  USIW_CHECK_PLACES({ "destroyed", &here },
					    { "made", &obj->made }),
			  "%s events of the %s: %" PRIu32
			  " were read, and %" PRIu32 " acknowledged",
			  is_async ? "asynchronous" : "completion",
			  names[obj->kind], read_cnt(obj, is_async),
			  __atomic_load_n(acked, __ATOMIC_RELAXED));
}

void usiw_check_acks(enum usiw_check_kind kind, const void *ptr, bool is_async,
		     const uint32_t *acked)
{
	const struct usiw_check_object *obj;
	int32_t cnt;

	for (int i = 0; i <= ACK_TRIES; i++) {
		usiw_check_lock();
		obj = usiw_check_find(kind, ptr);
		cnt = obj ? acks_missing(obj, is_async, acked) : 0;
		if (cnt < 0 || (cnt && i == ACK_TRIES))
			acks_report(obj, is_async, acked);
		usiw_check_unlock();
		if (cnt <= 0)
			return;
		(void)util_sys_poll(NULL, 0, ACK_TRY_MS);
	}
}

/* The object of an event; NULL: a port or device, or it is not known. */
static struct usiw_check_object *object_of(const struct ibv_async_event *event)
{
	switch (usiw_event_object(event->event_type)) {
	case USIW_EVENT_CQ:
		return usiw_check_find(USIW_CHECK_CQ, event->element.cq);
	case USIW_EVENT_SRQ:
		return usiw_check_find(USIW_CHECK_SRQ, event->element.srq);
	case USIW_EVENT_QP:
		return usiw_check_find(USIW_CHECK_QP, event->element.qp);
	default:
		return NULL;
	}
}

static void overrun_report(const struct usiw_check_object *cq)
{
	const struct ibv_cq *ibcq = cq->ptr;
	struct usiw_check_stack here;

	usiw_check_stack_take(&here);
	usiw_check_report(USIW_CHECK_CQ_OVERRUN,
			  USIW_CHECK_PLACES({ "event read", &here },
					    { "CQ made", &cq->made }),
			  "the CQ with %d entries has overrun: its QPs have "
			  "failed",
			  ibcq->cqe);
}

static void check_async_event(struct ibv_context *context,
			      struct ibv_async_event *event)
{
	struct usiw_check_object *obj;

	usiw_check_real->async_event(context, event);
	usiw_check_lock();
	obj = object_of(event);
	if (obj) {
		obj->async_cnt++;
		if (event->event_type == IBV_EVENT_CQ_ERR)
			overrun_report(obj);
	}
	usiw_check_unlock();
}

void usiw_check_hook_event(struct verbs_ops *ops)
{
	ops->async_event = check_async_event;
}
