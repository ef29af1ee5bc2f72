/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Finds the links of completions.
 *
 * A link is looked up by its QP number with the device's poll_lock held, and
 * freed with it held. A thread in a pass may use every link that it finds.
 */
#include "poll.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm-chan.h"
#include "verbs/link/inbox.h"
#include "verbs/link/drive.h"
#include "verbs/link/links.h"
#include "util/log.h"
#include "verbs/link/notice.h"
#include "util/thread.h"
#include "verbs/link/window.h"

/* Before a sleep at most this many passes are made, until the CQ is empty. */
#define ARM_TURNS 4
#define WC_MAX 32
/* Completions of a pass. */
#define PASS_MAX (8 * WC_MAX)

/* ---- links by number ---- */

static struct sdp_link **bucket(struct sdp_dev *dev, uint32_t qp_num)
{
	return &dev->buckets[(qp_num ^ qp_num >> 10) % SDP_DEV_BUCKETS];
}

void sdp_poll_add(struct sdp_dev *dev, struct sdp_link *link)
{
	struct sdp_link **head = bucket(dev, link->qp_num);

	link->hash_next = *head;
	*head = link;
	link->is_hashed = true;
}

static void unhash(struct sdp_dev *dev, struct sdp_link *link)
{
	struct sdp_link **at = bucket(dev, link->qp_num);

	if (!link->is_hashed)
		return;
	while (*at != link)
		at = &(*at)->hash_next;
	*at = link->hash_next;
	link->is_hashed = false;
}

static struct sdp_link *find(struct sdp_dev *dev, uint32_t qp_num)
{
	struct sdp_link *link = *bucket(dev, qp_num);

	while (link && link->qp_num != qp_num)
		link = link->hash_next;
	return link;
}

/* ---- end of links ---- */

/* From now on the queue pair takes no receive of the SRQ. Those that it has
 * taken are complete. */
static void stop(struct sdp_link *link)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (link->dev->qp_error)
		link->end.llp_error = link->dev->qp_error(link->qp);
	if (link->cm)
		rdma_disconnect(link->cm);
	(void)ibv_modify_qp(link->qp, &attr, IBV_QP_STATE);
}

/* Ends the carrier. No completion of the queue pair is left. */
static void take_down(struct sdp_link *link)
{
	if (link->cm) {
		rdma_destroy_qp(link->cm);
		rdma_destroy_id(link->cm);
		link->cm = NULL;
	} else {
		ibv_destroy_qp(link->qp);
	}
	link->qp = NULL;
	link->post.is_confirming = false;
	sdp_dev_shrink(link->dev, link->post.sq_depth);
	unhash(link->dev, link);
	sdp_conn_llp_down(link->conn, sdp_now_ns());
}

static void untime(struct sdp_dev *dev, struct sdp_link *link)
{
	struct sdp_link **at = &dev->timed;

	util_lock(&dev->wait_lock);
	while (*at && *at != link)
		at = &(*at)->timer.next;
	if (*at)
		*at = link->timer.next;
	util_unlock(&dev->wait_lock);
}

/* Returns the buffers of unread messages. */
static void drop_unread(struct sdp_link *link)
{
	struct sdp_event ev;

	while (link->start.early) {
		struct sdp_pbuf *buf = link->start.early;

		link->start.early = buf->next;
		sdp_pool_put(&link->dev->pool, buf);
	}
	(void)sdp_conn_consume(link->conn, sdp_conn_readable(link->conn));
	while (sdp_conn_next_event(link->conn, &ev)) {
		if (ev.type == SDP_EV_RELEASE)
			sdp_pool_put(&link->dev->pool,
				     (void *)(uintptr_t)ev.release.cookie);
	}
}

void sdp_poll_free_memory(struct sdp_link *link)
{
	/* Other threads of the program may be inside a call and stay there. */
	if (sdp_notice_is_ending())
		return;
	sdp_conn_free(link->conn);
	sdp_inbox_drop_fed(link);
	free(link);
}

void sdp_poll_free(struct sdp_link *link)
{
	struct sdp_dev *dev = link->dev;

	if (!link->is_foreign) {
		untime(dev, link);
		drop_unread(link);
		sdp_window_free(link);
		if (link->post.headers)
			sdp_pool_put(&dev->pool, link->post.headers);
	}
	if (sdp_links_remove(link))
		sdp_poll_free_memory(link);
}

/* ---- completions ---- */

/* A pass handles one link at a time. It keeps the link locked while consecutive
 * completions belong to it. */
struct pass {
	struct sdp_link *link;
	uint64_t now;
};

static void pass_leave(struct pass *p)
{
	if (!p->link)
		return;
	sdp_drive(p->link, 0);
	util_unlock(&p->link->lock);
	p->link = NULL;
}

static struct sdp_link *pass_enter(struct sdp_dev *dev, struct pass *p,
				   uint32_t qp_num)
{
	if (p->link && p->link->qp_num == qp_num)
		return p->link;
	pass_leave(p);
	p->link = find(dev, qp_num);
	if (p->link)
		util_lock(&p->link->lock);
	return p->link;
}

static void take_receive(struct sdp_dev *dev, struct pass *p,
			 const struct ibv_wc *wc)
{
	struct sdp_pbuf *buf = (struct sdp_pbuf *)(uintptr_t)wc->wr_id;
	struct sdp_link *link;

	dev->srq_posted--;
	link = pass_enter(dev, p, wc->qp_num);
	if (link && wc->status == IBV_WC_SUCCESS) {
		sdp_drive_message(link, buf, wc->byte_len,
				  wc->wc_flags & IBV_WC_WITH_INV
					  ? &wc->invalidated_rkey
					  : NULL);
		return;
	}
	sdp_pool_put(&dev->pool, buf);
	if (link)
		link->end.is_llp_down = true;
}

static void take_send(struct sdp_dev *dev, struct pass *p,
		      const struct ibv_wc *wc)
{
	struct sdp_link *link = pass_enter(dev, p, wc->qp_num);
	uint32_t id = (uint32_t)(wc->wr_id >> 1);
	bool is_ok = wc->status == IBV_WC_SUCCESS;

	if (!link)
		return;
	if (!is_ok)
		link->end.is_llp_down = true;
	if (wc->wr_id == LINK_CONFIRM_WR) {
		link->post.is_confirming = false;
		link->post.is_confirmed = is_ok;
		return;
	}
	/* The end of the carrier decides what flushed work means: it depends on
	 * whether the peer sent DisConn. Work without an answer is followed by
	 * that end, too. */
	if (wc->status == IBV_WC_WR_FLUSH_ERR ||
	    wc->status == IBV_WC_RETRY_EXC_ERR)
		return;
	/* A Read may complete after a Send that was posted later. */
	if (!sdp_conn_work_done(link->conn, id, is_ok, p->now) &&
	    (int32_t)(id + 1 - link->post.done_id) > 0)
		link->post.done_id = id + 1;
}

/* Return: whether the CQ may have more. */
static bool take_some(struct sdp_dev *dev, struct pass *p, int *ret_cnt)
{
	struct ibv_wc wc[WC_MAX];
	int cnt = ibv_poll_cq(dev->cq, WC_MAX, wc);

	for (int i = 0; i < cnt; i++) {
		if (wc[i].wr_id & 1)
			take_send(dev, p, &wc[i]);
		else
			take_receive(dev, p, &wc[i]);
	}
	if (cnt > 0) {
		pass_leave(p);
		sdp_dev_refill(dev);
		*ret_cnt += cnt;
	}
	return cnt == WC_MAX;
}

/*
 * The destruction of a queue pair removes its completions from the CQ, and the
 * receives of those would never be posted again. So all that the CQ has now is
 * taken first.
 */
static void take_all(struct sdp_dev *dev, uint64_t now)
{
	struct pass p = { .now = now };
	int cnt = 0;

	while (take_some(dev, &p, &cnt) && (uint32_t)cnt < dev->cqe_cnt)
		;
}

/* ---- deadlines ---- */

/* The old carrier has ended, and the peer waits for the next one. A separate
 * thread connects it, because that takes time. */
static void start_move(struct sdp_link *link)
{
	int ret;

	link->moving.is_asked = false;
	link->moving.is_running = true;
	ret = util_thread_run(link->moving.run, link, UTIL_THREAD_STACK);
	if (!ret)
		return;
	util_warn("sdp",
		  "qp 0x%06x: cannot start a thread to move the connection: %s",
		  link->qp_num, strerror(-ret));
	link->moving.is_running = false;
	sdp_conn_give_up_move(link->conn, sdp_now_ns());
}

/* The lock of the link is held, but released while completions are taken. */
static void end_carrier(struct sdp_dev *dev, struct sdp_link *link,
			uint64_t now)
{
	stop(link);
	util_unlock(&link->lock);
	take_all(dev, now);
	util_lock(&link->lock);
	take_down(link);
	sdp_drive(link, 0);
}

static void serve_link(struct sdp_dev *dev, struct sdp_link *link, uint64_t now)
{
	bool is_over;

	util_lock(&link->lock);
	atomic_store_explicit(&link->timer.at_ns, SDP_NEVER,
			      memory_order_relaxed);
	if (atomic_exchange_explicit(&link->end.is_cm_over, false,
				     memory_order_relaxed))
		link->end.is_llp_down = true;
	if (sdp_conn_deadline(link->conn) <= now)
		sdp_conn_tick(link->conn, now);
	if (link->end.is_released && link->end.close_end <= now) {
		link->end.close_end = SDP_NEVER;
		sdp_conn_abort(link->conn, now);
	}
	if (!link->end.is_llp_down || !link->qp)
		sdp_drive(link, 0);
	if (link->end.is_llp_down && link->qp && link->start.is_over)
		end_carrier(dev, link, now);
	if (sdp_drive_is_to_move(link)) {
		start_move(link);
		sdp_drive(link, 0);
	}
	is_over = link->end.is_released && link->end.is_conn_down &&
		  !link->moving.is_running;
	util_unlock(&link->lock);
	if (is_over)
		sdp_poll_free(link);
}

/* Returns one link that is due, or NULL, and the time at which the next one is
 * due. */
static struct sdp_link *next_due(struct sdp_dev *dev, uint64_t now,
				 uint64_t *ret_next)
{
	struct sdp_link **at = &dev->timed, *due = NULL;

	*ret_next = SDP_NEVER;
	while (*at && !due) {
		struct sdp_link *link = *at;
		uint64_t ns = atomic_load_explicit(&link->timer.at_ns,
						   memory_order_relaxed);

		if (atomic_load_explicit(&link->end.is_cm_over,
					 memory_order_relaxed))
			ns = 0;
		if (ns <= now)
			due = link;
		else if (ns < *ret_next)
			*ret_next = ns;
		if (ns <= now || ns == SDP_NEVER) {
			link->timer.is_on = false;
			*at = link->timer.next;
		} else {
			at = &link->timer.next;
		}
	}
	return due;
}

static void serve_deadlines(struct sdp_dev *dev, uint64_t now)
{
	struct sdp_link *link;
	uint64_t next;

	if (atomic_load_explicit(&dev->deadline, memory_order_relaxed) > now)
		return;
	do {
		util_lock(&dev->wait_lock);
		/* Set this first, so that a thread that arms a deadline
		 * meanwhile makes it earlier. */
		atomic_store_explicit(&dev->deadline, SDP_NEVER,
				      memory_order_seq_cst);
		link = next_due(dev, now, &next);
		util_unlock(&dev->wait_lock);
		if (link)
			serve_link(dev, link, now);
	} while (link);
	if (next != SDP_NEVER)
		sdp_notice_deadline(dev, next);
}

/* ---- passes ---- */

int sdp_poll(struct sdp_dev *dev)
{
	struct pass p = { .now = sdp_now_ns() };
	int total = 0;

	util_lock_assert_held(&dev->poll_lock);
	while (take_some(dev, &p, &total) && total < PASS_MAX)
		;
	serve_deadlines(dev, p.now);
	return total;
}

int sdp_poll_try(struct sdp_dev *dev)
{
	int cnt;

	if (!util_trylock(&dev->poll_lock))
		return -EBUSY;
	cnt = sdp_poll(dev);
	util_unlock(&dev->poll_lock);
	return cnt;
}

bool sdp_poll_is_busy(struct sdp_dev *dev)
{
	/* Not util_lock_is_held(): what the last pass wrote must be visible. */
	if (!util_trylock(&dev->poll_lock))
		return true;
	util_unlock(&dev->poll_lock);
	return false;
}

void sdp_poll_drain(struct sdp_dev *dev)
{
	util_lock(&dev->poll_lock);
	while (sdp_poll(dev) > 0)
		;
	util_unlock(&dev->poll_lock);
}

int sdp_poll_arm(struct sdp_dev *dev, int *ret_cq_fd)
{
	int turns = ARM_TURNS, cq_fd = -1;

	/* Before the CQ is armed: another thread may take the event at once.
	 * seq_cst: pairs with sdp_poll_rearm() */
	atomic_fetch_add_explicit(&dev->armed_cnt, 1, memory_order_seq_cst);
	if (ret_cq_fd) {
		cq_fd = dev->cq_sleep_begin ? dev->cq_sleep_begin(dev->cq) : -1;
		*ret_cq_fd = cq_fd;
	}
	/* Not a trylock: a pass of another thread may have polled before the CQ
	 * was armed. */
	util_lock(&dev->poll_lock);
	if (cq_fd < 0)
		(void)ibv_req_notify_cq(dev->cq, 0);
	/* What comes from here on brings an event. */
	while (sdp_poll(dev) >= PASS_MAX && --turns > 0)
		;
	util_unlock(&dev->poll_lock);
	return turns > 0 ? 0 : -EAGAIN;
}

void sdp_poll_disarm(struct sdp_dev *dev)
{
	atomic_fetch_sub_explicit(&dev->armed_cnt, 1, memory_order_seq_cst);
}

/* The event may have been meant for another sleeping thread. Without arming
 * again, no further event would wake that thread. */
void sdp_poll_rearm(struct sdp_dev *dev)
{
	if (atomic_load_explicit(&dev->armed_cnt, memory_order_seq_cst) > 0)
		(void)ibv_req_notify_cq(dev->cq, 0);
}

/* ---- events ---- */

static void qp_ended(struct sdp_dev *dev, uint32_t qp_num)
{
	struct sdp_link *link = find(dev, qp_num);

	if (!link)
		return;
	util_lock(&link->lock);
	link->end.is_llp_down = true;
	sdp_drive(link, 0);
	util_unlock(&link->lock);
}

static void take_async(struct sdp_dev *dev)
{
	struct ibv_async_event ev;

	while (!ibv_get_async_event(dev->ctx, &ev)) {
		uint32_t qp_num = 0;
		bool is_end = false;

		switch (ev.event_type) {
		case IBV_EVENT_QP_FATAL:
		case IBV_EVENT_QP_REQ_ERR:
		case IBV_EVENT_QP_ACCESS_ERR:
		case IBV_EVENT_QP_LAST_WQE_REACHED:
			qp_num = ev.element.qp->qp_num;
			is_end = true;
			break;
		default:
			break;
		}
		/* An unacknowledged event would block the destruction of the
		 * QP. */
		ibv_ack_async_event(&ev);
		if (is_end)
			qp_ended(dev, qp_num);
	}
}

void sdp_poll_events(struct sdp_dev *dev, unsigned int which)
{
	struct ibv_cq *cq;
	void *ctx;

	util_lock_assert_held(&dev->poll_lock);
	/* One event only. A further event makes the descriptor readable again,
	 * and looking for it would cost a system call per wake-up. */
	if (which & SDP_POLL_CQ && !ibv_get_cq_event(dev->channel, &cq, &ctx)) {
		ibv_ack_cq_events(dev->cq, 1);
		sdp_poll_rearm(dev);
	}
	/* Completions that came before the end of a link are handled before it.
	 * In all other cases poll once: on usiw a poll without result costs a
	 * system call per link. */
	while (sdp_poll(dev) > 0 && which & (SDP_POLL_ASYNC | SDP_POLL_CM))
		;
	if (which & SDP_POLL_ASYNC)
		take_async(dev);
	if (which & SDP_POLL_CM)
		sdp_cm_chan_serve();
	if (which & (SDP_POLL_ASYNC | SDP_POLL_CM))
		sdp_poll(dev);
}
