/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Creation and destruction of links, their settings and statistics.
 */
#include "life.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/link/answer.h"
#include "verbs/wait/cm-chan.h"
#include "verbs/link/drive.h"
#include "verbs/link/links.h"
#include "util/log.h"
#include "verbs/link/notice.h"
#include "verbs/wait/poll.h"
#include "verbs/wait/progress.h"
#include "verbs/link/window.h"

#define READS_MAX 16u
#define SEND_BYTES 1048576u
#define HELLO_MS 5000u
/* Larger sends are not copied. On usiw a transfer by RDMA Read wakes three
 * threads, and a copy costs as much memory traffic as TCP's. */
#define THRESHOLD 65536u
#define THRESHOLD_USIW 524288u

/* ---- creation ---- */

static uint16_t min16(uint32_t a, uint32_t b)
{
	return (uint16_t)(a < b ? a : b);
}

static void fill_options(struct sdp_link *link, enum sdp_role role,
			 enum sdp_carrier carrier)
{
	struct sdp_options *o = &link->opt.conn;
	const struct ibv_device_attr *attr = &link->dev->attr;
	uint32_t ird = min16((uint32_t)attr->max_qp_rd_atom, READS_MAX);
	uint32_t ord = min16((uint32_t)attr->max_qp_init_rd_atom, READS_MAX);

	o->role = role;
	o->carrier = carrier;
	if (!o->work_cap)
		o->work_cap = 64;
	if (!o->buf_size || o->buf_size > link->dev->pool.buf_size)
		o->buf_size = link->dev->pool.buf_size;
	o->buf_size_max =
		link->dev->pool.buf_size; /* the SRQ has buffers of this size */
	if (!o->recv_cap)
		o->recv_cap = 4;
	o->ird = min16(o->ird ? o->ird : ird, ird);
	o->ord = min16(o->ord ? o->ord : ord, ord);
	if (!link->opt.send_bytes)
		link->opt.send_bytes = SEND_BYTES;
	if (!link->opt.hello_ms)
		link->opt.hello_ms = HELLO_MS;
	if (!o->src_threshold)
		o->src_threshold = link->dev->is_usiw ? THRESHOLD_USIW
						      : THRESHOLD;
	if (!o->sink_threshold)
		o->sink_threshold = 65536;
	if (!o->read_min)
		o->read_min = 4096;
	link->start.mid_off = o->layout == SDP_LAYOUT_MIRRORED ? 0 : 3;
	link->start.flags_off = o->layout == SDP_LAYOUT_MIRRORED ? 1 : 2;
	link->stats.role = role;
	link->stats.carrier = carrier;
}

/* Return: 0; -errno. */
static int try_qp(struct sdp_link *link, struct ibv_qp_init_attr *attr)
{
	if (link->cm) {
		if (rdma_create_qp(link->cm, link->dev->pd, attr))
			return -errno;
		link->qp = link->cm->qp;
		return 0;
	}
	link->qp = ibv_create_qp(link->dev->pd, attr);
	return link->qp ? 0 : -errno;
}

/* No attribute tells the limit for inline data. Linux's siw refuses a queue
 * pair with more than 80 octets. */
static int create_qp(struct sdp_link *link)
{
	struct sdp_dev *dev = link->dev;
	struct ibv_qp_init_attr attr;
	int ret;

	for (;;) {
		attr = (struct ibv_qp_init_attr){
			.qp_context = link,
			.send_cq = dev->cq,
			.recv_cq = dev->cq,
			.srq = dev->srq,
			.cap = { .max_send_wr = link->post.sq_depth,
				 .max_send_sge = LINK_SGE_MAX,
				 .max_inline_data = dev->inline_max },
			.qp_type = IBV_QPT_RC,
		};
		ret = try_qp(link, &attr);
		if (ret != -EINVAL || dev->inline_max == 0)
			break;
		dev->inline_max /= 2;
		if (dev->inline_max < SDP_HEADER_MAX)
			dev->inline_max = 0;
	}
	if (ret)
		return ret;
	link->qp_num = link->qp->qp_num;
	link->post.inline_max = attr.cap.max_inline_data;
	return 0;
}

/* rdma_cm moves its own queue pairs to INIT. */
static int init_qp(struct sdp_link *link)
{
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE |
				   IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_WRITE,
	};
	int ret = ibv_modify_qp(link->qp, &init,
				IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					IBV_QP_ACCESS_FLAGS);

	if (ret) {
		ibv_destroy_qp(link->qp);
		link->qp = NULL;
	}
	return -ret;
}

static int make_qp(struct sdp_link *link)
{
	int ret = create_qp(link);

	return ret || link->cm ? ret : init_qp(link);
}

/* The steps that need the device. */
static int enter_device(struct sdp_link *link)
{
	struct sdp_dev *dev = link->dev;
	int ret;

	util_lock_assert_held(&dev->poll_lock);
	ret = sdp_dev_grow(dev, link->post.sq_depth);
	if (ret)
		return ret;
	ret = make_qp(link);
	if (ret)
		sdp_dev_shrink(dev, link->post.sq_depth);
	else
		sdp_poll_add(dev, link);
	if (dev->link_cnt == 1)
		sdp_notice_kick(); /* the progress thread must serve it too */
	return ret;
}

int sdp_link_new(struct sdp_link **ret_link, struct sdp_dev *dev,
		 struct rdma_cm_id *cm, enum sdp_role role,
		 enum sdp_carrier carrier, const struct sdp_link_options *opt)
{
	struct sdp_link *link = calloc(1, sizeof(*link));
	int ret;

	if (!link)
		return -ENOMEM;
	util_lock_init(&link->lock, UTIL_RANK_SDP_LINK);
	link->dev = dev;
	link->cm = cm;
	if (opt)
		link->opt = *opt;
	link->start.early_end = &link->start.early;
	link->post.data_id = UINT32_MAX; /* none is in flight */
	link->tx.cork_end = SDP_NEVER;
	link->end.close_end = SDP_NEVER;
	atomic_init(&link->timer.at_ns, SDP_NEVER);
	fill_options(link, role, carrier);
	snprintf(link->stats.device, sizeof(link->stats.device), "%s",
		 dev->name);
	ret = sdp_conn_new(&link->conn, &link->opt.conn);
	if (ret)
		goto free_link;
	link->post.sq_depth = link->opt.conn.work_cap + LINK_SQ_EXTRA;
	link->post.header_cnt = link->opt.conn.work_cap;
	link->post.headers = sdp_pool_get(&dev->pool);
	ret = -ENOMEM;
	if (!link->post.headers ||
	    (size_t)link->post.header_cnt * SDP_HEADER_MAX >
		    link->post.headers->mem.len)
		goto free_conn;
	ret = sdp_progress_start();
	if (!ret) {
		util_lock(&dev->poll_lock);
		ret = enter_device(link);
		util_unlock(&dev->poll_lock);
	}
	if (ret)
		goto free_conn;
	sdp_links_add(link);
	util_lock(&link->lock);
	(void)sdp_conn_start(link->conn, sdp_now_ns());
	sdp_drive(link, 0);
	util_unlock(&link->lock);
	*ret_link = link;
	return 0;
free_conn:
	if (link->post.headers)
		sdp_pool_put(&dev->pool, link->post.headers);
	sdp_conn_free(link->conn);
free_link:
	free(link);
	return ret;
}

int sdp_link_renew(struct sdp_link *link, struct rdma_cm_id *cm,
		   enum sdp_role role, enum sdp_carrier carrier)
{
	struct sdp_dev *dev = link->dev;
	int ret = -ECANCELED;

	util_lock(&dev->poll_lock);
	util_lock(&link->lock);
	if (link->end.is_conn_down || link->qp)
		goto unlock;
	link->cm = cm;
	ret = sdp_window_renew(link);
	if (!ret)
		ret = enter_device(link);
	if (ret) {
		link->cm = NULL;
		goto unlock;
	}
	atomic_store_explicit(&link->end.is_cm_over, false,
			      memory_order_relaxed);
	link->end.is_llp_down = false;
	link->start.is_over = false;
	link->moving.is_up = false;
	link->stats.role = role;
	link->stats.carrier = carrier;
	(void)sdp_conn_move(link->conn, role, carrier, sdp_now_ns());
	sdp_drive(link, 0);
unlock:
	util_unlock(&link->lock);
	util_unlock(&dev->poll_lock);
	return ret;
}

void sdp_link_confirm_begin(struct sdp_link *link)
{
	util_lock(&link->lock);
	link->post.is_confirmed = false;
	if (!link->is_foreign && link->qp && !link->end.is_llp_down &&
	    link->moving.is_up && !link->post.is_confirming)
		sdp_drive_confirm(link);
	sdp_notice_update(link, 0);
	util_unlock(&link->lock);
}

int sdp_link_confirm_end(struct sdp_link *link, uint64_t deadline)
{
	bool is_asked;
	int ret;

	util_lock(&link->lock);
	is_asked = link->post.is_confirming || link->post.is_confirmed;
	util_unlock(&link->lock);
	if (!is_asked)
		return -ENOTCONN;
	do {
		ret = sdp_wait(link, LINK_CONFIRMED | SDP_LINK_CLOSED, NULL,
			       deadline);
	} while (ret == -EINTR);
	return ret < 0 ? ret : 0;
}

static void release(struct sdp_link *link, uint64_t deadline)
{
	struct sdp_dev *dev = link->dev;

	util_lock(&link->lock);
	link->notify = NULL;
	/* Not while another thread connects the next carrier. */
	link->start.is_over |= !link->moving.is_running;
	link->end.is_released = true;
	atomic_store_explicit(&link->end.is_closing, true,
			      memory_order_relaxed);
	link->end.close_end = deadline;
	sdp_drive(link, 0);
	util_unlock(&link->lock);
	/* This may free the link. */
	(void)sdp_poll_try(dev);
}

void sdp_link_discard(struct sdp_link *link)
{
	util_lock(&link->lock);
	link->end.is_llp_down = true;
	util_unlock(&link->lock);
	release(link, 0);
}

int sdp_link_take_hello(struct sdp_link *link, const void *hello, size_t len)
{
	int ret;

	util_lock(&link->lock);
	ret = sdp_conn_hello(link->conn, hello, len, sdp_now_ns());
	sdp_drive(link, 0);
	util_unlock(&link->lock);
	return ret;
}

int sdp_link_stand_up(struct sdp_link *link, const void *octets, size_t len,
		      uint16_t ord, uint64_t deadline)
{
	unsigned int s;
	int ret;

	util_lock(&link->lock);
	ret = sdp_conn_carrier_up(link->conn, octets, len, ord, sdp_now_ns());
	sdp_drive_started(link);
	sdp_drive(link, 0);
	util_unlock(&link->lock);
	if (ret)
		return ret == -EPROTO ? ret : -EPROTO;
	do {
		ret = sdp_wait(link, LINK_UP | SDP_LINK_CLOSED, NULL, deadline);
	} while (ret == -EINTR);
	if (ret < 0)
		return ret;
	s = link_state(link);
	if (s & LINK_UP)
		return 0;
	util_lock(&link->lock);
	switch (sdp_conn_fault(link->conn)) {
	case SDP_FAULT_TIMEOUT:
		ret = -sdp_answer_error(SDP_CAUSE_SILENCE, SDP_PHASE_START);
		break;
	case SDP_FAULT_LLP:
	case SDP_FAULT_LLP_LOST:
		ret = -sdp_answer_error(SDP_CAUSE_RESET, SDP_PHASE_START);
		break;
	default:
		ret = -EPROTO;
	}
	util_unlock(&link->lock);
	return ret;
}

/* ---- outcomes ---- */

const char *sdp_reason_str(enum sdp_reason reason)
{
	static const char *const strings[] = {
		[SDP_REASON_NONE] = "no reason",
		[SDP_REASON_DEVICE] = "no verbs device for the route",
		[SDP_REASON_CARRIER] = "the device does not offer the carrier",
		[SDP_REASON_RESOURCE] = "out of resources",
		[SDP_REASON_REFUSED] = "the peer refused",
		[SDP_REASON_NOT_SDP] = "the peer does not speak SDP",
		[SDP_REASON_TIMEOUT] = "the peer did not answer in time",
		[SDP_REASON_LOST] = "the carrier failed",
	};

	return (unsigned int)reason < SDP_REASON_CNT ? strings[reason] : "?";
}

static enum sdp_reason reason_of(int err)
{
	switch (-err) {
	case 0:
		return SDP_REASON_NONE;
	case ENODEV:
	case EADDRNOTAVAIL:
		return SDP_REASON_DEVICE;
	case EOPNOTSUPP:
		return SDP_REASON_CARRIER;
	case ECONNREFUSED:
	case ECONNRESET:
	case EPIPE:
		return SDP_REASON_REFUSED;
	case EPROTO:
		return SDP_REASON_NOT_SDP;
	case ETIMEDOUT:
		return SDP_REASON_TIMEOUT;
	case ENOMEM:
	case EMFILE:
	case ENFILE:
	case EAGAIN:
	case ENOBUFS:
	case ENOSPC:
		return SDP_REASON_RESOURCE;
	default:
		return SDP_REASON_LOST;
	}
}

int sdp_link_tell(struct sdp_outcome *ret_outcome, int err, bool has_sent,
		  const struct sockaddr *peer, const char *what)
{
	char name[LINK_NAME_MAX];

	if (!ret_outcome)
		return err;
	ret_outcome->reason = reason_of(err);
	ret_outcome->has_sent = has_sent;
	ret_outcome->text[0] = '\0';
	if (!err)
		return 0;
	snprintf(ret_outcome->text, sizeof(ret_outcome->text), "%s: %s: %s",
		 link_name_str(peer, name), what, strerror(-err));
	return err;
}

/* ---- the end ---- */

int sdp_link_shutdown(struct sdp_link *link)
{
	int ret;

	util_lock(&link->lock);
	ret = link_answer(link, SDP_CALL_SHUTDOWN);
	if (!ret && !link->tx.is_shut) {
		link->tx.is_shut = true;
		sdp_drive(link, 0);
	}
	util_unlock(&link->lock);
	return ret;
}

void sdp_link_shutdown_read(struct sdp_link *link)
{
	util_lock(&link->lock);
	if (!link->is_foreign && !link->rx.is_shut) {
		link->rx.is_shut = true;
		/* A receive that sleeps must get its memory back first. */
		if (link->rx.zbuf.is_busy)
			(void)sdp_conn_cancel_recv(
				link->conn, (uintptr_t)&link->rx.zbuf.mem,
				sdp_now_ns());
		sdp_drive(link, 0);
	}
	util_unlock(&link->lock);
}

void sdp_link_abort(struct sdp_link *link)
{
	util_lock(&link->lock);
	if (!link->is_foreign) {
		sdp_conn_abort(link->conn, sdp_now_ns());
		sdp_drive(link, 0);
	}
	util_unlock(&link->lock);
}

/* Closes in order. Data that arrives from now on makes the close abortive
 * (C22). */
static void close_in_order(struct sdp_link *link)
{
	link->rx.is_deaf = true; /* the shutdown tells the core */
	if (link->tx.was_told)
		(void)sdp_conn_close(link->conn, sdp_now_ns());
	else if (link->rx.fed || sdp_conn_readable(link->conn))
		sdp_conn_abort(link->conn, sdp_now_ns()); /* C22 */
	link->tx.is_shut = true;
	sdp_drive(link, 0);
}

int sdp_link_linger(struct sdp_link *link, uint64_t deadline)
{
	int ret;

	if (link->is_foreign)
		return 0;
	util_lock(&link->lock);
	close_in_order(link);
	util_unlock(&link->lock);
	ret = sdp_wait(link, SDP_LINK_CLOSED | LINK_SHUT, NULL, deadline);
	return ret < 0 ? ret : 0;
}

void sdp_link_close(struct sdp_link *link, uint64_t deadline)
{
	util_lock(&link->lock);
	if (link->is_foreign) {
		util_unlock(&link->lock);
		sdp_poll_free(link);
		return;
	}
	link->notify = NULL;
	if (deadline)
		close_in_order(link);
	util_unlock(&link->lock);
	release(link, deadline);
}

/* ---- settings, statistics ---- */

static int set_locked(struct sdp_link *link, enum sdp_link_setting setting,
		      uint32_t value)
{
	switch (setting) {
	case SDP_LINK_NODELAY:
		link->opt.is_nodelay = value;
		return 0;
	case SDP_LINK_CORK:
		link->tx.is_corked = value;
		if (!value)
			link->tx.has_more = false;
		return 0;
	case SDP_LINK_OOBINLINE:
		link->opt.is_oobinline = value;
		return 0;
	case SDP_LINK_RCVLOWAT:
		link->opt.rcvlowat = value;
		return 0;
	case SDP_LINK_MODE:
		return sdp_conn_set_mode(link->conn, (enum sdp_mode)value);
	case SDP_LINK_RCV_SIZE:
		return sdp_conn_ask_size(link->conn, value);
	}
	return -EINVAL;
}

int sdp_link_set(struct sdp_link *link, enum sdp_link_setting setting,
		 uint32_t value)
{
	int ret;

	util_lock(&link->lock);
	ret = link->is_foreign ? -ENOTCONN : set_locked(link, setting, value);
	if (!ret && setting == SDP_LINK_NODELAY && value && !link->tx.is_corked)
		sdp_drive_push(link);
	if (!ret)
		sdp_drive(link, 0);
	util_unlock(&link->lock);
	return ret;
}

void sdp_link_get_stats(struct sdp_link *link, struct sdp_link_stats *ret)
{
	uint64_t other;

	util_lock(&link->lock);
	*ret = link->stats;
	ret->send_mode = sdp_conn_send_mode(link->conn);
	ret->recv_mode = sdp_conn_recv_mode(link->conn);
	ret->send_credit = (uint16_t)sdp_conn_credit(link->conn);
	ret->recv_credit = sdp_conn_told_bufs(link->conn);
	ret->is_failed = link->end.is_failed;
	ret->peer_rcv_sz = sdp_conn_peer_size(link->conn);
	/* The peer read the octets that neither a message nor a Write
	 * carried. */
	other = ret->tx_bcopy + ret->tx_write;
	ret->tx_read = ret->tx_octets > other ? ret->tx_octets - other : 0;
	other = ret->rx_bcopy + ret->rx_read;
	ret->rx_write = ret->rx_octets > other ? ret->rx_octets - other : 0;
	util_unlock(&link->lock);
}

const struct sockaddr_storage *sdp_link_name(const struct sdp_link *link,
					     bool is_peer)
{
	return &link->names[is_peer];
}
