/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Wake-ups that are lost: a thread waits for an event, and the completions that
 * it waits for came before the CQ was armed.
 *
 * A thread waits in ibv_get_cq_event(), which the RNIC tells, or in poll() or
 * its kin.  For those, a thread of the check looks at the calls that the others
 * are in, as long as a CQ is armed late.
 */
#include <stdatomic.h>

#include "util/cancel.h"
#include "util/thread.h"
#include "hooks.h"
#include "waits.h"

/* A thread that waits so often, one time after the other, is not about to poll
 * the CQ. */
#define LOOK_CNT 5
#define LOOK_MS 100

/* ---- CQs of a channel -------------------------------------------------- */

/* Under the lock of shadow.h. */
static struct {
	int fd;			    /* of the channel; -1: of any */
	struct usiw_check_cq *late; /* a CQ that is armed too late */
	bool has_armed; /* another one is armed in time, which may wake it */
} search;

static int channel_fd(const struct usiw_check_cq *cq)
{
	const struct ibv_cq *ibcq = cq->obj.ptr;

	return ibcq->channel ? ibcq->channel->fd : -1;
}

static void cq_look(struct usiw_check_object *obj)
{
	struct usiw_check_cq *cq = (struct usiw_check_cq *)obj;
	int fd;

	if (obj->kind != USIW_CHECK_CQ || !cq->is_armed)
		return;
	fd = channel_fd(cq);
	if (fd < 0 || (search.fd >= 0 && fd != search.fd))
		return;
	if (cq->is_armed_late)
		search.late = cq;
	else
		search.has_armed = true;
}

/* Return: the CQ; NULL: there is none. */
static struct usiw_check_cq *late_find(int fd)
{
	search.fd = fd;
	search.late = NULL;
	search.has_armed = false;
	usiw_check_each(cq_look);
	return search.late;
}

/* @where: the call.  @waits: its stack, if it is known. */
static void late_report(const struct usiw_check_cq *cq, const char *where,
			const struct usiw_check_stack *waits)
{
	usiw_check_report(USIW_CHECK_LOST_WAKEUP,
			  USIW_CHECK_PLACES({ "waits", waits },
					    { "armed", &cq->armed },
					    { "CQ made", &cq->obj.made }),
			  "a thread waits %s for an event of a CQ whose "
			  "completions came before ibv_req_notify_cq(): an "
			  "adapter makes no event of them",
			  where);
}

/* ---- ibv_get_cq_event() ------------------------------------------------ */

void usiw_check_chan_read(const struct rnic_chan *chan)
{
	struct usiw_check_stack here;
	const struct usiw_check_cq *cq;

	usiw_check_lock();
	cq = late_find(rnic_chan_fd(chan));
	if (cq && !search.has_armed) {
		usiw_check_stack_take(&here);
		late_report(cq, "in ibv_get_cq_event()", &here);
	}
	usiw_check_unlock();
}

/* ---- poll() and its kin ------------------------------------------------ */

/* A CQ that is armed late, and when. */
struct late {
	int fd; /* -1: there is none */
	uint64_t arm_cnt;
};

static struct late late_take(void)
{
	const struct usiw_check_cq *cq;
	struct late late = { .fd = -1 };

	usiw_check_lock();
	cq = late_find(-1);
	if (cq) {
		late.fd = channel_fd(cq);
		late.arm_cnt = cq->arm_cnt;
	}
	usiw_check_unlock();
	return late;
}

/* It has been waited for long enough. */
static void late_tell(const struct late *late)
{
	static const struct usiw_check_stack none;
	struct usiw_check_cq *cq;

	usiw_check_lock();
	cq = late_find(late->fd);
	if (cq && cq->arm_cnt == late->arm_cnt) {
		if (!search.has_armed)
			late_report(cq, "in poll() or the like", &none);
		cq->is_armed_late = false; /* once */
	}
	usiw_check_unlock();
}

static void *watch(void *arg)
{
	struct late last = { .fd = -1 }, now;
	int cnt = 0;

	(void)arg;
	for (;;) {
		(void)util_sys_poll(NULL, 0, LOOK_MS);
		now = late_take();
		/* Without the lock: it may call what the program replaces. */
		if (now.fd < 0 || now.fd != last.fd ||
		    now.arm_cnt != last.arm_cnt ||
		    !usiw_check_is_waited_for(now.fd))
			cnt = 0;
		else if (++cnt == LOOK_CNT)
			late_tell(&now);
		last = now;
	}
	return NULL;
}

static atomic_bool is_started;

void usiw_check_wakeup_watch(void)
{
	/* relaxed: nothing else depends on it */
	if (!atomic_exchange_explicit(&is_started, true, memory_order_relaxed))
		(void)util_thread_run(watch, NULL, UTIL_THREAD_STACK);
}

void usiw_check_wakeup_forget(void)
{
	atomic_store_explicit(&is_started, false, memory_order_relaxed);
}
