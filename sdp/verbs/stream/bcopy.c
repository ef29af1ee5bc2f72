/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The stream of octets: copies from and to the program's memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/iov.h"
#include "util/user.h"
#include "verbs/link/answer.h"
#include "verbs/link/drive.h"
#include "verbs/link/inbox.h"
#include "verbs/link/notice.h"
#include "verbs/wait/poll.h"
#include "verbs/link/state.h"

#define CORK_NS (200 * NS_PER_MS)
/* Maximum time for which small sends are held, even if no thread polls. */
#define GATHER_NS (10 * NS_PER_MS)

/* ---- pieces of the program's memory ---- */

struct cursor {
	const struct iovec *iov;
	int cnt;
	size_t off;
};

static size_t cursor_piece(struct cursor *c, uint8_t **ret_at)
{
	while (c->cnt > 0 && c->off == c->iov->iov_len) {
		c->iov++;
		c->cnt--;
		c->off = 0;
	}
	*ret_at = NULL;
	if (c->cnt <= 0)
		return 0;
	*ret_at = (uint8_t *)c->iov->iov_base + c->off;
	return c->iov->iov_len - c->off;
}

/* Return: octets copied; less than @len: the next address is invalid. */
static size_t copy_out(struct cursor *c, uint8_t *to, size_t len)
{
	size_t done = 0;

	while (done < len) {
		uint8_t *from;
		size_t n = cursor_piece(c, &from);

		n = n < len - done ? n : len - done;
		if (util_user_get(to + done, from, n) < 0)
			break;
		done += n;
		c->off += n;
	}
	return done;
}

/* Return: as copy_out(). */
static size_t copy_in(struct cursor *c, const uint8_t *from, size_t len,
		      unsigned int flags)
{
	size_t done = 0;

	while (done < len) {
		uint8_t *to;
		size_t n = cursor_piece(c, &to);

		n = n < len - done ? n : len - done;
		if (!(flags & SDP_RECV_TRUNC) &&
		    util_user_put(to, from + done, n) < 0)
			break;
		done += n;
		c->off += n;
	}
	return done;
}

/* ---- errors ---- */

static int check_send(struct sdp_link *link)
{
	int ret = link_answer(link, SDP_CALL_SEND);

	return ret == SDP_ANSWER_GO ? 0 : ret;
}

void sdp_link_tell_again(struct sdp_link *link, int error)
{
	if (!sdp_link_is_end(error))
		return;
	util_lock(&link->lock);
	if (!link->end.error)
		link->end.error = error;
	sdp_notice_update(link, 0);
	util_unlock(&link->lock);
}

/* ---- sending ---- */

/* A buffer with space: the newest one or a new one. */
static struct sdp_pbuf *tail_get(struct sdp_link *link)
{
	struct sdp_pbuf *buf = link->tx.tail;

	if (buf && buf->filled < buf->mem.len)
		return buf;
	sdp_drive_push(link);
	if (buf && buf->filled != buf->given)
		return NULL; /* the core's queue is full */
	link->tx.tail = NULL;
	if (!sdp_conn_send_room(link->conn))
		return NULL;
	buf = sdp_pool_get(&link->dev->pool);
	link->tx.tail = buf;
	return buf;
}

static size_t gather(struct sdp_link *link, struct cursor *c, size_t len,
		     bool *ret_is_bad)
{
	size_t done = 0;

	while (done < len && link->tx.queued < link->opt.send_bytes) {
		struct sdp_pbuf *buf = tail_get(link);
		size_t n = len - done, want;

		if (!buf)
			break;
		if (n > buf->mem.len - buf->filled)
			n = buf->mem.len - buf->filled;
		want = n;
		n = copy_out(c, buf->mem.base + buf->filled, n);
		*ret_is_bad = n < want;
		buf->filled += (uint32_t)n;
		link->tx.queued += n;
		done += n;
		if (buf->filled == buf->mem.len)
			sdp_drive_push(link);
		if (*ret_is_bad)
			break;
	}
	return done;
}

/* Sends the urgent octet. It ends its buffer. */
static int send_urgent(struct sdp_link *link, struct cursor *c)
{
	struct sdp_pbuf *buf;
	int ret;

	sdp_drive_push(link);
	if (link->tx.tail && link->tx.tail->filled != link->tx.tail->given)
		return -EAGAIN;
	if (!sdp_conn_send_room(link->conn))
		return -EAGAIN;
	buf = sdp_pool_get(&link->dev->pool);
	if (!buf)
		return -ENOBUFS;
	if (copy_out(c, buf->mem.base, 1) < 1) {
		sdp_pool_put(&link->dev->pool, buf);
		return -EFAULT;
	}
	buf->filled = buf->given = 1;
	ret = sdp_conn_send(link->conn,
			    &(struct sdp_buf){ .cookie = (uintptr_t)buf,
					       .len = 1,
					       .flags = SDP_BUF_OOB });
	if (ret) {
		sdp_pool_put(&link->dev->pool, buf);
		return ret;
	}
	link->tx.queued++;
	link->tx.tail = NULL;
	return 0;
}

/* Decides whether gathered octets are sent now or held for more. */
static void hold_or_push(struct sdp_link *link)
{
	bool is_held = link->tx.is_corked || link->tx.has_more;

	if (!link->tx.tail || link->tx.tail->filled == link->tx.tail->given)
		return;
	if (is_held || (!link->opt.is_nodelay && sdp_drive_is_sending(link))) {
		if (link->tx.cork_end == SDP_NEVER)
			link->tx.cork_end =
				sdp_now_ns() + (is_held ? CORK_NS : GATHER_NS);
		return;
	}
	sdp_drive_push(link);
}

static ssize_t send_locked(struct sdp_link *link, const struct iovec *iov,
			   int iovcnt, unsigned int flags)
{
	struct cursor c = { iov, iovcnt, 0 };
	size_t len = util_iov_len(iov, iovcnt), normal = len, done;
	bool is_oob = flags & SDP_SEND_OOB && len, is_bad = false;
	int ret = check_send(link);

	if (ret)
		return ret;
	if (!len)
		return 0;
	normal -= is_oob;
	done = gather(link, &c, normal, &is_bad);
	link->tx.has_more = flags & SDP_SEND_MORE;
	ret = is_bad ? -EFAULT : -EAGAIN;
	if (done == normal && is_oob) {
		ret = send_urgent(link, &c);
		done += !ret;
	}
	hold_or_push(link);
	sdp_drive(link, 0);
	if (done)
		return (ssize_t)done;
	/* No buffer is free, and none will be returned. */
	return link->tx.queued || ret != -EAGAIN ||
			       !sdp_conn_send_room(link->conn)
		       ? ret
		       : -ENOBUFS;
}

ssize_t sdp_link_send(struct sdp_link *link, const struct iovec *iov,
		      int iovcnt, unsigned int flags)
{
	ssize_t ret;

	/* It may have been sent meanwhile. Then nothing is held back. */
	if (atomic_load_explicit(&link->is_sending, memory_order_relaxed))
		(void)sdp_poll_try(link->dev);
	util_lock(&link->lock);
	ret = send_locked(link, iov, iovcnt, flags);
	util_unlock(&link->lock);
	return ret;
}

/* ---- receiving ---- */

/* Takes received octets up to the mark. Return: their number; -EFAULT. */
static ssize_t take(struct sdp_link *link, struct cursor *c, size_t space,
		    unsigned int flags)
{
	bool is_peek = flags & SDP_RECV_PEEK;
	size_t done = 0;
	uint64_t off = 0;

	while (done < space) {
		const uint8_t *at;
		uint32_t len, n, want;
		bool is_oob, mark;

		if (!sdp_inbox_peek(link, off, &at, &len, &is_oob))
			break;
		mark = sdp_inbox_is_mark(link, is_oob);
		if (mark && len == 1 && done)
			break;
		if (mark && len == 1 && !link->opt.is_oobinline) {
			/* Only SDP_RECV_OOB reads it. */
			if (is_peek)
				off++;
			else
				sdp_inbox_consume(link, 1, true);
			continue;
		}
		n = len < space - done ? len : (uint32_t)(space - done);
		if (mark && len > 1 && n == len)
			n--;
		want = n;
		n = (uint32_t)copy_in(c, at, want, flags);
		done += n;
		if (is_peek)
			off += n;
		else if (n > 0)
			sdp_inbox_consume(link, n, is_oob && n == len);
		if (n < want)
			return done ? (ssize_t)done : -EFAULT;
	}
	return (ssize_t)done;
}

static ssize_t recv_urgent(struct sdp_link *link, struct cursor *c,
			   unsigned int flags)
{
	if (link->opt.is_oobinline)
		return -EINVAL;
	if (!link->rx.oob.has_octet)
		return link_oob_is_awaited(&link->rx.oob) ? -EAGAIN : -EINVAL;
	if (copy_in(c, &link->rx.oob.octet, 1, flags) < 1)
		return -EFAULT;
	if (!(flags & SDP_RECV_PEEK))
		link->rx.oob.has_octet = false;
	sdp_notice_update(link, 0);
	return 1;
}

/* The result of a receive that found no octets. */
static ssize_t nothing(struct sdp_link *link, unsigned int flags)
{
	ssize_t ret;

	if (link->end.error && flags & LINK_RECV_KEEP_ERROR)
		return 0;
	ret = link_answer(link, SDP_CALL_RECV);
	/* Another call has taken the error. */
	if (ret == 0 && flags & SDP_RECV_RELAY && !link->rx.is_peer_closed &&
	    !link->rx.is_shut)
		return -ECONNRESET;
	return ret;
}

static ssize_t recv_locked(struct sdp_link *link, const struct iovec *iov,
			   int iovcnt, unsigned int flags)
{
	struct cursor c = { iov, iovcnt, 0 };
	size_t space = util_iov_len(iov, iovcnt);
	ssize_t ret, done;

	if (link->end.is_relayed && !(flags & SDP_RECV_RELAY))
		return -ESTALE;
	if (flags & SDP_RECV_OOB)
		return space ? recv_urgent(link, &c, flags) : 0;
	if (!space)
		return sdp_conn_readable(link->conn) || link->rx.oob.has_kept
			       ? 0
			       : nothing(link, flags);
	if (link->rx.zbuf.is_busy)
		return -EAGAIN;
	/* A call that has octets ends before the mark. The mark may arrive
	 * while the call waits for more. */
	if (flags & LINK_RECV_KEEP_ERROR && sdp_inbox_is_at_mark(link))
		return 0;
	done = take(link, &c, space, flags);
	if (done) {
		if (done > 0 && !(flags & SDP_RECV_PEEK)) {
			link->stats.rx_bcopy += (size_t)done;
			link->stats.rx_octets += (size_t)done;
			sdp_drive(link, 0);
		}
		return done;
	}
	ret = nothing(link, flags);
	if (ret == -EAGAIN && !(flags & LINK_RECV_KEEP_ADVERT) &&
	    !link->rx.is_refused && sdp_conn_readable(link->conn)) {
		/* The octets are only advertised: ask the peer to send them. */
		link->rx.is_refused = !sdp_conn_refuse_advert(link->conn);
	}
	sdp_drive(link, 0);
	return ret;
}

ssize_t sdp_link_recv(struct sdp_link *link, const struct iovec *iov,
		      int iovcnt, unsigned int flags)
{
	ssize_t ret;

	/* The newest urgent octet counts. */
	if (flags & SDP_RECV_OOB)
		sdp_poll_drain(link->dev);
	util_lock(&link->lock);
	ret = recv_locked(link, iov, iovcnt, flags);
	util_unlock(&link->lock);
	if (ret != -EAGAIN || flags & LINK_RECV_NO_POLL ||
	    sdp_poll_try(link->dev) <= 0)
		return ret;
	util_lock(&link->lock);
	ret = recv_locked(link, iov, iovcnt, flags);
	util_unlock(&link->lock);
	return ret;
}

void sdp_link_feed(struct sdp_link *link, void *octets, size_t len)
{
	util_lock(&link->lock);
	sdp_inbox_drop_fed(link);
	if (len > 0) {
		link->rx.fed = octets;
		link->rx.fed_len = len;
	} else {
		free(octets);
	}
	sdp_notice_update(link, 0);
	util_unlock(&link->lock);
}

/* ---- queries ---- */

unsigned int sdp_link_state(const struct sdp_link *link)
{
	return link_state(link) & 0xffu;
}

void sdp_link_set_notify(struct sdp_link *link, sdp_notify_fn *fn, void *arg)
{
	util_lock(&link->lock);
	link->notify = fn;
	link->notify_arg = arg;
	if (fn)
		fn(arg, link_state(link), link_state(link));
	util_unlock(&link->lock);
}

int sdp_link_error(struct sdp_link *link)
{
	int error;

	util_lock(&link->lock);
	error = -link_answer(link, SDP_CALL_SO_ERROR);
	util_unlock(&link->lock);
	return error;
}

size_t sdp_link_inq(struct sdp_link *link)
{
	uint64_t off = 0;
	const uint8_t *at;
	uint32_t len;
	bool is_oob;

	util_lock(&link->lock);
	while (sdp_inbox_peek(link, off, &at, &len, &is_oob)) {
		off += len;
		if (sdp_inbox_is_mark(link, is_oob) &&
		    !link->opt.is_oobinline) {
			off--;
			break;
		}
	}
	util_unlock(&link->lock);
	return off;
}

size_t sdp_link_outq(struct sdp_link *link)
{
	size_t n;

	util_lock(&link->lock);
	n = link->tx.queued +
	    (link->tx.zbuf.is_busy ? link->tx.zbuf.mem.len : 0);
	util_unlock(&link->lock);
	return n;
}

bool sdp_link_at_mark(struct sdp_link *link)
{
	bool is_at;

	util_lock(&link->lock);
	is_at = sdp_inbox_is_at_mark(link);
	util_unlock(&link->lock);
	return is_at;
}
