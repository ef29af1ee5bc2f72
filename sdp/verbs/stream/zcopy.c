/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Transfers without copying: the program's memory is registered for one send or
 * receive.
 */
#include <errno.h>
#include <string.h>

#include "util/iov.h"
#include "verbs/link/answer.h"
#include "verbs/link/drive.h"
#include "verbs/link/notice.h"
#include "verbs/wait/progress.h"
#include "verbs/link/state.h"
#include "verbs/link/window.h"
#include "util/unwind.h"

/* ---- memory ---- */

static int zbuf_register(struct sdp_link *link, struct link_zbuf *z, void *mem,
			 size_t len, int access)
{
	int ret;

	if (len > SDP_LEN_MAX)
		len = SDP_LEN_MAX;
	if (link->dev->has_windows)
		access = (access & ~IBV_ACCESS_REMOTE_READ) |
			 IBV_ACCESS_MW_BIND;
	z->mr = ibv_reg_mr(link->dev->pd, mem, len, access);
	if (!z->mr)
		return -errno;
	z->mem = (struct sdp_mem){ mem, z->mr->lkey, (uint32_t)len };
	z->done = 0;
	z->is_eof = z->is_oob = false;
	ret = sdp_window_open(link, z);
	if (!ret)
		return 0;
	ibv_dereg_mr(z->mr);
	z->mr = NULL;
	return ret;
}

static struct sdp_buf zbuf_describe(const struct link_zbuf *z, uint8_t flags)
{
	return (struct sdp_buf){ .cookie = (uintptr_t)&z->mem,
				 .va = (uintptr_t)z->mem.base,
				 .len = z->mem.len,
				 .stag = z->stag,
				 .flags = (uint8_t)(SDP_BUF_RDMA | flags) };
}

static void zbuf_release(struct link_zbuf *z)
{
	sdp_window_close(z);
	if (z->mr)
		ibv_dereg_mr(z->mr);
	z->mr = NULL;
}

static bool is_off(const struct sdp_link *link)
{
	return atomic_load_explicit(&link->is_zcopy_off, memory_order_relaxed);
}

/* ---- sending ---- */

static int send_begin_locked(struct sdp_link *link, struct sdp_buf *buf)
{
	int ret = link_answer(link, SDP_CALL_SEND);

	if (ret != SDP_ANSWER_GO)
		return ret;
	/* Gathered octets are sent first, and nothing is added to them. */
	sdp_drive_push(link);
	if (link->tx.tail && link->tx.tail->filled != link->tx.tail->given)
		return -EAGAIN;
	link->tx.tail = NULL;
	ret = sdp_conn_send(link->conn, buf);
	if (ret)
		return ret;
	link->tx.zbuf.is_busy = true;
	sdp_drive(link, 0);
	return 0;
}

int sdp_link_send_zcopy_begin(struct sdp_link *link, const void *buf,
			      size_t len)
{
	struct link_zbuf *z = &link->tx.zbuf;
	struct sdp_buf desc;
	int ret = -EAGAIN;

	if (is_off(link) || len < 2)
		return -ENOTSUP;
	util_lock(&link->lock);
	if (z->is_busy || z->mr)
		goto unlock;
	ret = zbuf_register(link, z, (void *)(uintptr_t)buf, len,
			    IBV_ACCESS_REMOTE_READ);
	if (ret)
		goto unlock;
	desc = zbuf_describe(z, 0);
	ret = send_begin_locked(link, &desc);
	if (ret)
		zbuf_release(z);
unlock:
	util_unlock(&link->lock);
	return ret;
}

ssize_t sdp_link_send_zcopy_done(struct sdp_link *link)
{
	ssize_t ret = -EAGAIN;

	util_lock(&link->lock);
	if (!link->tx.zbuf.is_busy) {
		ret = link->tx.zbuf.done;
		zbuf_release(&link->tx.zbuf);
	}
	util_unlock(&link->lock);
	return ret;
}

/* Requests the memory back, which takes as long as the peer needs to answer, at
 * most conn.cancel_ms. */
static void zcopy_cancel(struct sdp_link *link)
{
	util_lock(&link->lock);
	if (link->tx.zbuf.is_busy) {
		(void)sdp_conn_cancel_send(link->conn,
					   (uintptr_t)&link->tx.zbuf.mem,
					   sdp_now_ns());
		sdp_drive(link, 0);
	}
	util_unlock(&link->lock);
}

/* As sdp_wait_point(), but returns -ETIME for the deadline: ETIMEDOUT is an
 * error of the link. */
static int wait_for(struct sdp_link *link, unsigned int what,
		    const struct sdp_seen *seen, uint64_t deadline)
{
	int ret = sdp_wait_point(link, what, seen, deadline);

	return ret == -ETIMEDOUT ? -ETIME : ret;
}

/* Waits without a deadline. The protocol's timers end a peer that does not
 * answer. */
static void wait_back(struct sdp_link *link, unsigned int bit)
{
	while (sdp_wait(link, bit, NULL, SDP_NEVER) < 0)
		;
}

static ssize_t send_back(struct sdp_link *link)
{
	zcopy_cancel(link);
	wait_back(link, LINK_ZDONE);
	return sdp_link_send_zcopy_done(link);
}

/* The thread has left the call without returning from it. The memory belongs to
 * the program again, whatever was sent. */
static void send_left(void *link)
{
	(void)send_back(link);
}

/* Return: octets. The next call reports why the transfer ended early, or this
 *   one if nothing was sent. *ret_why: -EINTR, -ETIME if it ended a partial
 *   transfer. */
static ssize_t send_one_zcopy(struct sdp_link *link, const void *buf,
			      size_t len, uint64_t deadline, int *ret_why)
{
	int ret = sdp_link_send_zcopy_begin(link, buf, len);
	struct util_unwind unwind;
	ssize_t done;

	if (ret)
		return ret;
	util_unwind_push(&unwind, send_left, link);
	ret = wait_for(link, LINK_ZDONE, NULL, deadline);
	if (ret < 0) {
		*ret_why = ret;
		done = send_back(link);
	} else {
		done = sdp_link_send_zcopy_done(link);
	}
	util_unwind_pop(&unwind);
	if (done)
		return done;
	if (ret < 0) {
		/* A part of the size of the send buffer was sent, as with
		 * TCP. */
		struct iovec iov = { (void *)(uintptr_t)buf, len };

		done = sdp_link_send(link, &iov, 1, 0);
		return done > 0 ? done : ret;
	}
	util_lock(&link->lock);
	ret = link_answer(link, SDP_CALL_SEND);
	util_unlock(&link->lock);
	return ret == SDP_ANSWER_GO ? -EPIPE : ret;
}

static bool wants_zcopy(struct sdp_link *link, size_t len)
{
	return !is_off(link) && len > link->opt.conn.src_threshold &&
	       atomic_load_explicit(&link->send_mode, memory_order_relaxed) !=
		       SDP_MODE_BUFFERED;
}

/* Sends one piece, by copy or without. */
static ssize_t send_piece(struct sdp_link *link, const struct iovec *iov,
			  int iovcnt, unsigned int flags, uint64_t deadline,
			  int *ret_why)
{
	ssize_t ret;

	if (wants_zcopy(link, iov->iov_len) &&
	    !(flags & SDP_SEND_OOB && iovcnt == 1)) {
		ret = send_one_zcopy(link, iov->iov_base, iov->iov_len,
				     deadline, ret_why);
		if (ret > 0 || (ret != -ENOMEM && ret != -EAGAIN &&
				ret != -EFAULT && ret != -EINVAL))
			return ret;
		/* It cannot be registered, or another thread's transfer is
		 * active. */
	}
	for (;;) {
		struct sdp_seen seen = sdp_see(&link->change_cnt);
		int rc;

		ret = sdp_link_send(link, iov, iovcnt, flags);
		if (ret != -EAGAIN)
			return ret;
		rc = wait_for(link, 0, &seen, deadline);
		if (rc < 0)
			return rc;
	}
}

static void iov_advance(struct iovec **iov, int *cnt, size_t len)
{
	while (*cnt > 0 && len >= (*iov)->iov_len) {
		len -= (*iov)->iov_len;
		(*iov)++;
		(*cnt)--;
	}
	if (*cnt > 0) {
		(*iov)->iov_base = (uint8_t *)(*iov)->iov_base + len;
		(*iov)->iov_len -= len;
	}
}

/* Small pieces go together, a large one alone. */
static int batch(struct sdp_link *link, const struct iovec *iov, int cnt)
{
	int n = 0;

	if (wants_zcopy(link, iov->iov_len))
		return 1;
	while (n < cnt && !wants_zcopy(link, iov[n].iov_len))
		n++;
	return n;
}

/* The next call reports an error that ends a call after a partial transfer. */
static ssize_t told(struct sdp_link *link, ssize_t done, ssize_t ret)
{
	if (!done)
		return ret == -ETIME ? -EAGAIN : ret;
	sdp_link_tell_again(link, (int)-ret);
	return done;
}

#define IOV_AT_ONCE 64

ssize_t sdp_link_send_wait(struct sdp_link *link, const struct iovec *iov,
			   int iovcnt, unsigned int flags, uint64_t deadline)
{
	struct iovec copy[IOV_AT_ONCE];
	ssize_t done = 0;
	int why = 0;

	while (iovcnt > 0) {
		int cnt = iovcnt < IOV_AT_ONCE ? iovcnt : IOV_AT_ONCE;
		struct iovec *at = copy;

		memcpy(copy, iov, (size_t)cnt * sizeof(*copy));
		iov += cnt;
		iovcnt -= cnt;
		while (cnt > 0 && at->iov_len == 0) {
			at++;
			cnt--;
		}
		while (cnt > 0) {
			int n = batch(link, at, cnt);
			bool is_last = n == cnt && !iovcnt;
			unsigned int f = flags;
			ssize_t ret;

			if (!is_last)
				f = (f & ~SDP_SEND_OOB) | SDP_SEND_MORE;
			ret = send_piece(link, at, n, f, deadline, &why);
			if (ret < 0)
				return told(link, done, ret);
			done += ret;
			if (why)
				return done;
			iov_advance(&at, &cnt, (size_t)ret);
		}
	}
	return done;
}

/* ---- receiving ---- */

static int recv_begin_locked(struct sdp_link *link, void *buf, size_t len,
			     unsigned int flags)
{
	struct link_zbuf *z = &link->rx.zbuf;
	struct sdp_buf desc;
	int ret;

	if (link->rx.oob.has_kept || link->rx.fed ||
	    (link->end.is_relayed && !(flags & SDP_RECV_RELAY)))
		return -EAGAIN;
	if (link_holds(link) &
	    (SDP_HOLDS_PEER_END | SDP_HOLDS_RD_SHUT | SDP_HOLDS_OVER))
		return -EPIPE;
	ret = zbuf_register(link, z, buf, len,
			    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (ret)
		return ret;
	desc = zbuf_describe(z, flags & SDP_RECV_WAITALL ? SDP_BUF_WAITALL : 0);
	ret = sdp_conn_post_recv(link->conn, &desc);
	if (ret) {
		zbuf_release(z);
		return ret;
	}
	z->is_busy = true;
	/* A held request may go with the SinkAvail (Transaction). */
	if (!link->tx.is_corked) {
		link->tx.has_more = false;
		sdp_drive_push(link);
	}
	sdp_drive(link, 0);
	return 0;
}

int sdp_link_recv_zcopy_begin(struct sdp_link *link, void *buf, size_t len,
			      unsigned int flags)
{
	int ret = -EAGAIN;

	if (is_off(link) || !len)
		return -ENOTSUP;
	util_lock(&link->lock);
	if (!link->rx.zbuf.is_busy && !link->rx.zbuf.mr)
		ret = recv_begin_locked(link, buf, len, flags);
	util_unlock(&link->lock);
	return ret;
}

/* The reader has not reached the urgent octet at the end yet. */
static ssize_t keep_urgent(struct sdp_link *link, ssize_t len)
{
	struct link_zbuf *z = &link->rx.zbuf;

	if (!z->is_oob || !len)
		return len;
	if (link->rx.oob.left_cnt > 1) {
		link->rx.oob.left_cnt--; /* counts as ordinary data now */
		return len;
	}
	link->rx.oob.kept = z->mem.base[len - 1];
	link->rx.oob.has_kept = true;
	return len - 1;
}

ssize_t sdp_link_recv_zcopy_done(struct sdp_link *link)
{
	struct link_zbuf *z = &link->rx.zbuf;
	ssize_t ret = -EAGAIN;

	util_lock(&link->lock);
	if (!z->is_busy) {
		ret = z->mr ? keep_urgent(link, z->done) : 0;
		zbuf_release(z);
		sdp_drive(link, 0);
	}
	util_unlock(&link->lock);
	return ret;
}

static void recv_cancel(struct sdp_link *link)
{
	util_lock(&link->lock);
	if (link->rx.zbuf.is_busy) {
		(void)sdp_conn_cancel_recv(link->conn,
					   (uintptr_t)&link->rx.zbuf.mem,
					   sdp_now_ns());
		sdp_drive(link, 0);
	}
	util_unlock(&link->lock);
}

void sdp_link_relay(struct sdp_link *link)
{
	util_lock(&link->lock);
	link->end.is_relayed = true;
	/* These bits hold, or will hold when the requested memory is back. */
	sdp_notice_update(link, LINK_RDONE | LINK_ZDONE);
	util_unlock(&link->lock);
	recv_cancel(link);
}

/* Whether to receive by zcopy: the peer has advertised data that is better read
 * than requested, or may write into an advertised buffer. */
static bool wants_zcopy_recv(struct sdp_link *link, size_t space,
			     unsigned int flags)
{
	uint64_t there, all;
	bool is_wanted;

	if (is_off(link) || flags & (SDP_RECV_PEEK | SDP_RECV_TRUNC) ||
	    space < link->opt.conn.read_min)
		return false;
	util_lock(&link->lock);
	there = sdp_conn_buffered(link->conn);
	all = sdp_conn_readable(link->conn);
	is_wanted = all > there && space > there && !link->rx.is_refused;
	if (sdp_conn_recv_mode(link->conn) == SDP_MODE_PIPELINED)
		is_wanted |= !there && space > link->opt.conn.sink_threshold;
	is_wanted &= !link->rx.oob.has_kept && !link->rx.fed &&
		     !link->rx.oob.left_cnt && !link->rx.is_peer_closed &&
		     !link->end.is_conn_down && !link->end.is_failed;
	util_unlock(&link->lock);
	return is_wanted;
}

static ssize_t recv_back(struct sdp_link *link)
{
	recv_cancel(link);
	wait_back(link, LINK_RDONE);
	return sdp_link_recv_zcopy_done(link);
}

/* See send_left(). */
static void recv_left(void *link)
{
	(void)recv_back(link);
}

static ssize_t recv_one_zcopy(struct sdp_link *link, void *buf, size_t len,
			      unsigned int flags, uint64_t deadline,
			      int *ret_why)
{
	int ret = sdp_link_recv_zcopy_begin(link, buf, len, flags);
	struct util_unwind unwind;
	ssize_t done;

	if (ret)
		return ret == -EPIPE ? -EAGAIN : ret;
	util_unwind_push(&unwind, recv_left, link);
	ret = wait_for(link, LINK_RDONE, NULL, deadline);
	if (ret < 0) {
		*ret_why = ret;
		done = recv_back(link);
	} else {
		done = sdp_link_recv_zcopy_done(link);
	}
	util_unwind_pop(&unwind);
	if (done)
		return done;
	return ret < 0 ? ret : -EAGAIN;
}

static void push(struct sdp_link *link)
{
	util_lock(&link->lock);
	if (link->tx.tail && !link->tx.is_corked) {
		link->tx.has_more = false;
		sdp_drive_push(link);
		sdp_drive(link, 0);
	}
	util_unlock(&link->lock);
}

/* Receives once. Waits until there is something. *ret_why: as for
 * send_one_zcopy(). */
static ssize_t recv_piece(struct sdp_link *link, const struct iovec *iov,
			  int iovcnt, unsigned int flags, uint64_t deadline,
			  int *ret_why)
{
	for (;;) {
		struct sdp_seen seen = sdp_see(&link->rx_change_cnt);
		unsigned int f = (flags & ~SDP_RECV_WAITALL) |
				 LINK_RECV_NO_POLL;
		ssize_t ret;
		int rc;

		if (wants_zcopy_recv(link, iov->iov_len, flags)) {
			ret = recv_one_zcopy(link, iov->iov_base, iov->iov_len,
					     flags, deadline, ret_why);
			if (ret > 0 || ret == -EINTR || ret == -ETIME)
				return ret;
		}
		ret = sdp_link_recv(link, iov, iovcnt, f);
		if (ret != -EAGAIN || flags & SDP_RECV_OOB)
			return ret;
		push(link);
		rc = wait_for(link, 0, &seen, deadline);
		if (rc < 0)
			return rc;
	}
}

/* Waits for @want octets, for a receive that only peeks. */
static int wait_for_inq(struct sdp_link *link, size_t want, uint64_t deadline)
{
	for (;;) {
		struct sdp_seen seen = sdp_see(&link->rx_change_cnt);
		unsigned int s;
		int rc;

		s = link_state(link);
		if (sdp_link_inq(link) >= want ||
		    s & (SDP_LINK_RDHUP | SDP_LINK_ERR | SDP_LINK_CLOSED))
			return 0;
		rc = wait_for(link, 0, &seen, deadline);
		if (rc < 0)
			return rc;
	}
}

static bool has_urgent(struct sdp_link *link)
{
	return atomic_load_explicit(&link->urgent_cnt, memory_order_relaxed);
}

/* @cnt is at most IOV_AT_ONCE. *ret_is_stale is only set, never cleared. */
static ssize_t recv_batch(struct sdp_link *link, const struct iovec *iov,
			  int cnt, unsigned int flags, size_t lowat,
			  uint64_t deadline, bool *ret_is_stale)
{
	struct iovec copy[IOV_AT_ONCE], *at = copy;
	size_t want = util_iov_len(iov, cnt), done = 0;
	int why = 0;

	if (!want)
		return 0;
	memcpy(copy, iov, (size_t)cnt * sizeof(*copy));
	iov_advance(&at, &cnt, 0);
	if (!(flags & SDP_RECV_WAITALL))
		want = lowat && lowat < want ? lowat : lowat ? want : 1;
	if (flags & SDP_RECV_PEEK && want > 1) {
		int rc = wait_for_inq(link, want, deadline);

		if (rc < 0 && !sdp_link_inq(link))
			return told(link, 0, rc);
		want = 1;
	}
	while (done < want) {
		unsigned int keep = done ? LINK_RECV_KEEP_ERROR : 0;
		ssize_t ret =
			recv_piece(link, at, cnt, flags | keep, deadline, &why);

		*ret_is_stale |= ret == -ESTALE;
		if (ret < 0)
			return told(link, (ssize_t)done, ret);
		if (!ret)
			break;
		done += (size_t)ret;
		iov_advance(&at, &cnt, (size_t)ret);
		if (has_urgent(link) || flags & (SDP_RECV_OOB | SDP_RECV_PEEK))
			break; /* not beyond the mark */
		if (why)
			break;
	}
	return (ssize_t)done;
}

/* Continues after a full batch. Only SDP_RECV_WAITALL waits. */
static ssize_t recv_rest(struct sdp_link *link, const struct iovec *iov,
			 int iovcnt, unsigned int flags, uint64_t deadline,
			 bool *ret_is_stale)
{
	flags |= LINK_RECV_KEEP_ERROR;
	if (!(flags & SDP_RECV_WAITALL))
		return sdp_link_recv(link, iov, iovcnt, flags);
	return recv_batch(link, iov,
			  iovcnt < IOV_AT_ONCE ? iovcnt : IOV_AT_ONCE, flags, 1,
			  deadline, ret_is_stale);
}

ssize_t sdp_link_recv_until_relay(struct sdp_link *link,
				  const struct iovec *iov, int iovcnt,
				  unsigned int flags, size_t lowat,
				  uint64_t deadline, bool *ret_is_stale)
{
	int cnt = iovcnt < IOV_AT_ONCE ? iovcnt : IOV_AT_ONCE;
	size_t all;
	ssize_t done, ret;

	*ret_is_stale = false;
	if (cnt <= 0 || !util_iov_len(iov, iovcnt))
		return sdp_link_recv(link, iov, iovcnt, flags);
	while (cnt < iovcnt && !util_iov_len(iov, cnt)) {
		iov += cnt;
		iovcnt -= cnt;
		cnt = iovcnt < IOV_AT_ONCE ? iovcnt : IOV_AT_ONCE;
	}
	done = recv_batch(link, iov, cnt, flags, lowat, deadline, ret_is_stale);
	all = util_iov_len(iov, cnt);
	if (flags & SDP_RECV_PEEK && cnt < iovcnt && done == (ssize_t)all)
		return sdp_link_recv(link, iov, iovcnt, flags);
	while (cnt < iovcnt && done == (ssize_t)all && !has_urgent(link) &&
	       !(flags & SDP_RECV_OOB)) {
		iov += cnt;
		iovcnt -= cnt;
		cnt = flags & SDP_RECV_WAITALL && iovcnt > IOV_AT_ONCE
			      ? IOV_AT_ONCE
			      : iovcnt;
		ret = recv_rest(link, iov, iovcnt, flags, deadline,
				ret_is_stale);
		if (ret < 0)
			break;
		done += ret;
		all += util_iov_len(iov, cnt);
	}
	return done;
}

ssize_t sdp_link_recv_wait(struct sdp_link *link, const struct iovec *iov,
			   int iovcnt, unsigned int flags, size_t lowat,
			   uint64_t deadline)
{
	bool is_stale;

	return sdp_link_recv_until_relay(link, iov, iovcnt, flags, lowat,
					 deadline, &is_stale);
}
