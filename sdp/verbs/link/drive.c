/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Handles the events of a connection and posts its work.
 */
#include "drive.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "util/clock.h"
#include "inbox.h"
#include "util/log.h"
#include "name.h"
#include "notice.h"
#include "window.h"

/* Maximum number of work requests in one call of ibv_post_send(). */
#define CHAIN_MAX 16

uint64_t sdp_now_ns(void)
{
	return util_now_ns();
}

static struct sdp_mem *mem_of(uint64_t cookie)
{
	return (struct sdp_mem *)(uintptr_t)cookie;
}

/* ---- events ---- */

/* sdp_drive() puts it into the state. */
static void note_error(struct sdp_link *link, int error)
{
	link->end.is_failed = true;
	if (!link->end.was_told && !link->end.error)
		link->end.error = error;
}

/* The error of TCP's timers if the device reports it, else a lost peer, as for
 * a device that cannot report the error. */
static int carrier_error(const struct sdp_link *link)
{
	if (sdp_link_is_lost(link->end.llp_error))
		return link->end.llp_error;
	return sdp_answer_error(SDP_CAUSE_RESET, link->rx.is_peer_closed
							 ? SDP_PHASE_PEER_END
							 : SDP_PHASE_OPEN);
}

static void on_failed(struct sdp_link *link, enum sdp_fault fault)
{
	char buf[LINK_NAME_MAX];
	const char *peer =
		link_name_str((struct sockaddr *)&link->names[1], buf);

	switch (fault) {
	case SDP_FAULT_NONE:
	case SDP_FAULT_LOCAL_ABORT:
		link->end.is_failed = true;
		return;
	case SDP_FAULT_TIMEOUT:
		util_warn("sdp", "qp 0x%06x to %s: %s", link->qp_num, peer,
			  sdp_fault_str(fault));
		note_error(link, sdp_answer_error(SDP_CAUSE_SILENCE,
						  link->moving.is_up
							  ? SDP_PHASE_OPEN
							  : SDP_PHASE_MOVE));
		return;
	case SDP_FAULT_PEER_ABORT:
	case SDP_FAULT_LLP_LOST:
		util_info("sdp", "qp 0x%06x to %s: %s", link->qp_num, peer,
			  sdp_fault_str(fault));
		break;
	default:
		util_warn("sdp", "qp 0x%06x to %s: aborted: %s", link->qp_num,
			  peer, sdp_fault_str(fault));
	}
	note_error(link, carrier_error(link));
}

static void on_sent(struct sdp_link *link, uint64_t cookie, uint32_t len)
{
	struct sdp_pbuf *buf;

	link->stats.tx_octets += len;
	if (mem_of(cookie) == &link->tx.zbuf.mem) {
		link->tx.zbuf.done = len;
		link->tx.zbuf.is_busy = false;
		return;
	}
	buf = sdp_pbuf_of(mem_of(cookie));
	link->tx.queued -= buf->given;
	if (buf != link->tx.tail) {
		sdp_pool_put(&link->dev->pool, buf);
		return;
	}
	if (buf->filled == buf->given) {
		link->tx.tail = NULL;
		sdp_pool_put(&link->dev->pool, buf);
		return;
	}
	/* Octets were added that the core was not told about. */
	buf->mem.base += buf->given;
	buf->mem.len -= buf->given;
	buf->filled -= buf->given;
	buf->given = 0;
}

static void on_received(struct sdp_link *link, const struct sdp_event *ev)
{
	link->rx.zbuf.done = ev->received.len;
	link->rx.zbuf.is_eof = ev->received.is_eof;
	link->rx.zbuf.is_oob = ev->received.is_oob;
	link->rx.zbuf.is_busy = false;
	link->stats.rx_octets += ev->received.len;
}

static void on_copy(struct sdp_link *link, const struct sdp_event *ev)
{
	memcpy(mem_of(ev->copy.to)->base + ev->copy.to_off,
	       mem_of(ev->copy.from.cookie)->base + ev->copy.from.off,
	       ev->copy.from.len);
	link->stats.rx_bcopy += ev->copy.from.len;
}

/* No message is in flight, and nothing is advertised. */
static void on_suspended(struct sdp_link *link, const struct sdp_event *ev)
{
	link->rx.is_refused = false;
	link->post.done_id = link->post.data_id + 1;
	link->moving.is_suspended = ev->suspended.is_initiator;
	link->moving.is_asked = !ev->suspended.is_initiator;
	link->moving.port = ev->suspended.port;
}

/* Drops gathered octets that the core was not told about. */
static void drop_tail(struct sdp_link *link)
{
	if (link->tx.tail)
		sdp_pool_put(&link->dev->pool, link->tx.tail);
	link->tx.tail = NULL;
	link->tx.queued = 0;
}

static unsigned int on_event(struct sdp_link *link, const struct sdp_event *ev)
{
	switch (ev->type) {
	case SDP_EV_NONE:
		break;
	case SDP_EV_CONNECTED:
		link->moving.is_up = true;
		return LINK_STANDS;
	case SDP_EV_COPY:
		on_copy(link, ev);
		break;
	case SDP_EV_RECEIVED:
		on_received(link, ev);
		return LINK_RDONE;
	case SDP_EV_RELEASE:
		sdp_pool_put(&link->dev->pool,
			     sdp_pbuf_of(mem_of(ev->release.cookie)));
		break;
	case SDP_EV_SENT:
		on_sent(link, ev->sent.cookie, ev->sent.len);
		break;
	case SDP_EV_READABLE:
		return SDP_LINK_IN | LINK_OCTETS;
	case SDP_EV_OOB_PENDING:
		link->rx.oob.pend_cnt++;
		return SDP_LINK_URGENT;
	case SDP_EV_PEER_CLOSED:
		link->rx.is_peer_closed = true;
		break;
	case SDP_EV_RESIZE:
		(void)sdp_conn_resize(link->conn, ev->resize.size);
		break;
	case SDP_EV_SUSPENDED:
		on_suspended(link, ev);
		break;
	case SDP_EV_FAILED:
		on_failed(link, ev->failed.fault);
		break;
	case SDP_EV_CLOSED:
		link->end.is_conn_down = true;
		/* During a move the old carrier may still exist. */
		link->end.is_llp_down |= link->qp != NULL;
		drop_tail(link);
		break;
	}
	return 0;
}

static unsigned int take_events(struct sdp_link *link)
{
	struct sdp_event ev;
	unsigned int news = 0;

	while (sdp_conn_next_event(link->conn, &ev))
		news |= on_event(link, &ev);
	return news;
}

/* ---- work ---- */

/* The list of work requests for one call of ibv_post_send(). */
struct chain {
	struct ibv_send_wr wr[CHAIN_MAX + 1]; /* a bind precedes its message in
						 the same call */
	struct ibv_sge sge[CHAIN_MAX + 1][LINK_SGE_MAX];
	struct sdp_work work[CHAIN_MAX + 1];
	int cnt;
};

static struct ibv_sge sge_of(const struct sdp_piece *piece)
{
	const struct sdp_mem *mem = mem_of(piece->cookie);

	return (struct ibv_sge){ .addr = (uintptr_t)mem->base + piece->off,
				 .length = piece->len,
				 .lkey = mem->lkey };
}

static void fill_send(struct sdp_link *link, const struct sdp_work *work,
		      struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	uint32_t len = work->send.header_len;

	for (int i = 0; i < work->send.piece_cnt; i++) {
		sge[1 + i] = sge_of(&work->send.pieces[i]);
		len += sge[1 + i].length;
	}
	wr->opcode = IBV_WR_SEND;
	wr->num_sge = 1 + work->send.piece_cnt;
	if (work->send.is_invalidating) {
		wr->opcode = IBV_WR_SEND_WITH_INV;
		wr->invalidate_rkey = work->send.inv_stag;
	}
	if (work->send.is_solicited)
		wr->send_flags |= IBV_SEND_SOLICITED;
	sge[0].length = work->send.header_len;
	if (len <= link->post.inline_max) {
		wr->send_flags |= IBV_SEND_INLINE;
		sge[0].addr = (uintptr_t)work->send.header;
	} else {
		uint8_t *place = link->post.headers->mem.base +
				 (size_t)(work->id % link->post.header_cnt) *
					 SDP_HEADER_MAX;

		memcpy(place, work->send.header, work->send.header_len);
		sge[0].addr = (uintptr_t)place;
		sge[0].lkey = link->post.headers->mem.lkey;
	}
	len -= work->send.header_len;
	link->stats.tx_msgs++;
	link->stats.tx_bcopy += len;
	if (work->send.mid == SDP_MID_SINK_AVAIL && len)
		link->stats.tx_transactions++;
	if (work->send.mid == SDP_MID_SINK_AVAIL ||
	    work->send.mid == SDP_MID_SRC_AVAIL)
		link->stats.tx_carried += len;
	if (len)
		link->post.data_id = work->id;
}

static void fill_rdma(struct sdp_link *link, const struct sdp_work *work,
		      struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	bool is_read = work->type == SDP_WORK_READ;

	sge[0] = sge_of(&work->rdma.piece);
	wr->num_sge = 1;
	wr->opcode = is_read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
	wr->wr.rdma.remote_addr = work->rdma.va;
	wr->wr.rdma.rkey = work->rdma.stag;
	if (is_read)
		link->stats.rx_read += work->rdma.piece.len;
	else
		link->stats.tx_write += work->rdma.piece.len;
}

/*
 * Linux's siw sends 4096 octets and more directly from the page. TCP may send
 * them again after the work has completed, unless the work is signalled.
 * Therefore Sends with payload are signalled.
 */
static bool must_signal(const struct sdp_link *link,
			const struct sdp_work *work)
{
	return link->dev->is_siw && work->type == SDP_WORK_WRITE;
}

static void chain_link(struct chain *c)
{
	if (c->cnt)
		c->wr[c->cnt - 1].next = &c->wr[c->cnt];
	c->cnt++;
}

/* Adds the bind before the message that needs it. The bind fails together with
 * the message, and both places in the send queue are freed together. */
static bool chain_add_bind(struct sdp_link *link, struct chain *c)
{
	struct sdp_work *work = &c->work[c->cnt];
	struct ibv_send_wr *wr = &c->wr[c->cnt];

	if (work->type != SDP_WORK_SEND ||
	    !sdp_window_bind(link, work->send.mid, wr))
		return false;
	wr->wr_id = (uint64_t)work->id << 1 | 1;
	c->work[c->cnt + 1] = *work;
	chain_link(c);
	return true;
}

static void chain_add(struct sdp_link *link, struct chain *c)
{
	bool has_bind = chain_add_bind(link, c);
	const struct sdp_work *work = &c->work[c->cnt];
	struct ibv_send_wr *wr = &c->wr[c->cnt];

	*wr = (struct ibv_send_wr){
		.wr_id = (uint64_t)work->id << 1 | 1,
		.sg_list = c->sge[c->cnt],
	};
	if (work->is_signaled || has_bind || must_signal(link, work))
		wr->send_flags = IBV_SEND_SIGNALED;
	if (work->type == SDP_WORK_SEND)
		fill_send(link, work, wr, c->sge[c->cnt]);
	else
		fill_rdma(link, work, wr, c->sge[c->cnt]);
	chain_link(c);
}

static void chain_post(struct sdp_link *link, struct chain *c)
{
	struct ibv_send_wr *bad = NULL;
	int ret;

	if (!c->cnt)
		return;
	ret = link->qp ? ibv_post_send(link->qp, c->wr, &bad) : EINVAL;
	c->cnt = 0;
	if (!ret)
		return;
	if (link->qp && !link->end.is_llp_down)
		util_warn("sdp", "qp 0x%06x: ibv_post_send: %s", link->qp_num,
			  strerror(ret));
	(void)sdp_conn_work_done(link->conn,
				 (uint32_t)((bad ? bad : c->wr)->wr_id >> 1),
				 false, sdp_now_ns());
}

/* Return: whether there was work. */
static bool post_work(struct sdp_link *link)
{
	struct chain c;
	bool was_any = false;

	c.cnt = 0;
	while (sdp_conn_next_work(link->conn, &c.work[c.cnt])) {
		struct sdp_work *work = &c.work[c.cnt];

		was_any = true;
		switch (work->type) {
		case SDP_WORK_NONE:
		case SDP_WORK_POST: /* the SRQ has the receives already */
			break;
		case SDP_WORK_HELLO:
			memcpy(link->start.hello, work->hello.octets,
			       work->hello.len);
			link->start.hello_len = work->hello.len;
			break;
		case SDP_WORK_DISCONNECT:
		case SDP_WORK_TERMINATE:
			chain_post(link, &c);
			link->end.is_llp_down = true;
			break;
		case SDP_WORK_SEND:
		case SDP_WORK_READ:
		case SDP_WORK_WRITE:
			chain_add(link, &c);
			if (c.cnt >= CHAIN_MAX)
				chain_post(link, &c);
			break;
		}
	}
	chain_post(link, &c);
	return was_any;
}

void sdp_drive_confirm(struct sdp_link *link)
{
	const struct sdp_mem *mem = &link->post.headers->mem;
	struct ibv_sge sge = { .addr = (uintptr_t)mem->base,
			       .lkey = mem->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = LINK_CONFIRM_WR,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
	};

	/* If it is refused, the answer does not come. */
	link->post.is_confirming = !ibv_post_send(link->qp, &wr, &bad);
}

/* ---- messages ---- */

/* Urgent octets are reported when they arrive, wherever the reader is. */
static unsigned int look_for_oob(struct sdp_link *link, const uint8_t *octets,
				 uint32_t len)
{
	if (len <= SDP_BSDH_SIZE ||
	    octets[link->start.mid_off] != SDP_MID_DATA ||
	    !(octets[link->start.flags_off] & SDP_FLAG_OOB_PRES))
		return 0;
	sdp_inbox_pass_mark(link);
	link->rx.oob.pres_cnt++;
	link->rx.oob.left_cnt++;
	link->rx.oob.octet = octets[len - 1];
	link->rx.oob.has_octet = true;
	return SDP_LINK_PRI;
}

/* Counts a message whose payload is part of its advertisement. */
static void count_carried(struct sdp_link *link, uint8_t mid, uint32_t len)
{
	if (mid == SDP_MID_SINK_AVAIL && len > SDP_SINK_AVAIL_SIZE) {
		link->stats.rx_transactions++;
		link->stats.rx_carried += len - SDP_SINK_AVAIL_SIZE;
	} else if (mid == SDP_MID_SRC_AVAIL && len > SDP_SRC_AVAIL_SIZE) {
		link->stats.rx_carried += len - SDP_SRC_AVAIL_SIZE;
	}
}

/*
 * The core checks credit only when the start has ended. Before that a peer may
 * send one message more than Bufs says (rule 11 of part 4 of the spec), or the
 * carrier's own first message.
 */
static void keep_early(struct sdp_link *link, struct sdp_pbuf *buf,
		       uint32_t len)
{
	if (link->start.early_cnt > sdp_conn_told_bufs(link->conn)) {
		if (!link->end.is_llp_down)
			util_warn("sdp",
				  "qp 0x%06x: aborted: %u messages before the "
				  "start has ended",
				  link->qp_num, link->start.early_cnt + 1);
		link->end.is_llp_down = true;
		sdp_pool_put(&link->dev->pool, buf);
		return;
	}
	link->start.early_cnt++;
	buf->filled = len;
	*link->start.early_end = buf;
	link->start.early_end = &buf->next;
}

void sdp_drive_message(struct sdp_link *link, struct sdp_pbuf *buf,
		       uint32_t len, const uint32_t *inv_stag)
{
	const uint8_t *octets = buf->mem.base;
	unsigned int news = 0;
	int ret;

	if (!link->start.is_over) {
		keep_early(link, buf, len);
		return;
	}
	ret = sdp_conn_recv(link->conn, (uintptr_t)buf, octets, len, inv_stag,
			    sdp_now_ns());
	if (ret >= 0 && inv_stag)
		sdp_window_invalidated(link, *inv_stag);
	if (ret >= 0 && len >= SDP_BSDH_SIZE) {
		link->stats.rx_msgs++;
		link->rx.is_refused = false;
		news = look_for_oob(link, octets, len);
		count_carried(link, octets[link->start.mid_off], len);
	}
	if (ret != 1)
		sdp_pool_put(&link->dev->pool, buf);
	/* Reports each urgent octet before the next one replaces it. */
	if (news)
		sdp_drive(link, news);
}

void sdp_drive_started(struct sdp_link *link)
{
	link->start.is_over = true;
	while (link->start.early) {
		struct sdp_pbuf *buf = link->start.early;

		link->start.early = buf->next;
		sdp_drive_message(link, buf, buf->filled, NULL);
	}
	link->start.early_end = &link->start.early;
	link->start.early_cnt = 0;
}

/* ---- gathered octets ---- */

void sdp_drive_push(struct sdp_link *link)
{
	struct sdp_pbuf *buf = link->tx.tail;
	int ret;

	if (!buf || buf->filled == buf->given)
		return;
	if (buf->given)
		ret = sdp_conn_send_more(link->conn, (uintptr_t)buf,
					 buf->filled - buf->given);
	else
		ret = sdp_conn_send(link->conn,
				    &(struct sdp_buf){
					    .cookie = (uintptr_t)buf,
					    .len = buf->filled,
				    });
	if (ret)
		return; /* -EAGAIN: tried again with the next event */
	buf->given = buf->filled;
	link->tx.cork_end = SDP_NEVER;
}

bool sdp_drive_is_sending(const struct sdp_link *link)
{
	return link->post.data_id + 1 != link->post.done_id &&
	       (int32_t)(link->post.data_id + 1 - link->post.done_id) > 0;
}

static bool is_push_due(const struct sdp_link *link)
{
	if (!link->tx.tail || link->tx.tail->filled == link->tx.tail->given)
		return false;
	if (link->tx.is_shut)
		return true;
	if (link->tx.is_corked || link->tx.has_more)
		return sdp_now_ns() >= link->tx.cork_end;
	return link->opt.is_nodelay || !sdp_drive_is_sending(link) ||
	       sdp_now_ns() >= link->tx.cork_end;
}

bool sdp_drive_is_to_move(const struct sdp_link *link)
{
	return link->moving.is_asked && !link->qp && !link->moving.is_running &&
	       !link->end.is_conn_down;
}

/* ---- deadlines ---- */

static uint64_t first_deadline(const struct sdp_link *link)
{
	uint64_t ns;

	if ((link->end.is_llp_down && link->qp) ||
	    (link->end.is_conn_down && link->end.is_released &&
	     !link->moving.is_running))
		return 0;
	if (sdp_drive_is_to_move(link))
		return 0;
	ns = sdp_conn_deadline(link->conn);
	if (link->tx.tail && link->tx.cork_end < ns)
		ns = link->tx.cork_end;
	if (link->end.is_released && link->end.close_end < ns)
		ns = link->end.close_end;
	return ns;
}

static void arm(struct sdp_link *link, uint64_t ns)
{
	struct sdp_dev *dev = link->dev;

	util_lock(&dev->wait_lock);
	if (!link->timer.is_on) {
		link->timer.is_on = true;
		link->timer.next = dev->timed;
		dev->timed = link;
	}
	util_unlock(&dev->wait_lock);
	sdp_notice_deadline(dev, ns);
}

/* Makes sure that the link is served at its deadline. */
static void deadline_arm(struct sdp_link *link)
{
	uint64_t ns = first_deadline(link);

	if (ns ==
	    atomic_load_explicit(&link->timer.at_ns, memory_order_relaxed))
		return;
	atomic_store_explicit(&link->timer.at_ns, ns, memory_order_relaxed);
	if (ns != SDP_NEVER)
		arm(link, ns);
}

/* Not by at_ns: a thread that has the link's lock writes its own deadline
 * there. */
void sdp_drive_cm_over(struct sdp_link *link)
{
	/* wait_lock, in arm(), orders this before the pass that looks. */
	atomic_store_explicit(&link->end.is_cm_over, true,
			      memory_order_relaxed);
	arm(link, 0);
}

void sdp_drive(struct sdp_link *link, unsigned int news)
{
	util_lock_assert_held(&link->lock);
	do {
		news |= take_events(link);
		if (is_push_due(link))
			sdp_drive_push(link);
	} while (post_work(link));
	if (link->tx.is_shut && !link->tx.was_told &&
	    !(link->tx.tail && link->tx.tail->filled != link->tx.tail->given)) {
		link->tx.was_told = true;
		if (link->rx.is_deaf)
			(void)sdp_conn_close(link->conn, sdp_now_ns());
		else
			(void)sdp_conn_shutdown(link->conn, sdp_now_ns());
		while (post_work(link))
			news |= take_events(link);
	}
	atomic_store_explicit(&link->send_mode,
			      (uint8_t)sdp_conn_send_mode(link->conn),
			      memory_order_relaxed);
	atomic_store_explicit(&link->is_sending, sdp_drive_is_sending(link),
			      memory_order_relaxed);
	atomic_store_explicit(&link->urgent_cnt, link->rx.oob.left_cnt,
			      memory_order_relaxed);
	deadline_arm(link);
	sdp_notice_update(link, news);
}
