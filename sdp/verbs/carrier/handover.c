/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Moves a connection to another address space: the side that requests the move
 * (doc/spec/sdp.md 3.4).
 *
 * The state is passed between processes of one host with the same version of
 * the library: structures as they are in memory, followed by pieces of the
 * stream.
 */
#include "handover.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/link/drive.h"
#include "verbs/wait/progress.h"

#define MAGIC 0x53445031u

struct piece_head {
	uint32_t len;
	uint32_t flags;
};

/* ---- the old address space ---- */

/* Return: 0: SuspComm is sent as soon as possible; -EAGAIN: the peer is moving;
 *   -ENOTCONN. */
static int suspend_try(struct sdp_link *link, uint16_t port)
{
	int ret = 0;

	util_lock(&link->lock);
	if (link->is_foreign || link->end.is_conn_down || link->end.is_failed)
		ret = -ENOTCONN;
	else if (!link->moving.is_wanted)
		ret = sdp_conn_suspend(link->conn, port, sdp_now_ns());
	/* If the peer's SuspComm crosses it, it is sent again on the next
	 * carrier. */
	link->moving.is_wanted |= !ret;
	sdp_drive(link, 0);
	util_unlock(&link->lock);
	return ret == -EINVAL ? -EAGAIN : ret;
}

int sdp_link_suspend(struct sdp_link *link, uint16_t port, uint64_t deadline)
{
	struct sdp_seen seen;
	int ret;

	for (;;) {
		seen = sdp_see(&link->change_cnt);
		ret = suspend_try(link, port);
		if (ret != -EAGAIN)
			break;
		ret = sdp_wait(link, 0, &seen, deadline);
		if (ret < 0)
			break;
	}
	if (!ret)
		ret = sdp_wait(link, LINK_BARE | SDP_LINK_CLOSED, NULL,
			       deadline);
	if (ret < 0)
		return ret;
	return link_state(link) & LINK_BARE ? 0 : -ECONNRESET;
}

struct writer {
	uint8_t *at; /* NULL: only computes the length */
	size_t len;
};

static void write_octets(struct writer *w, const void *octets, size_t len)
{
	if (w->at)
		memcpy(w->at + w->len, octets, len);
	w->len += len;
}

static void write_piece(struct writer *w, const uint8_t *octets, uint32_t len,
			uint32_t flags)
{
	struct piece_head head = { .len = len, .flags = flags };

	write_octets(w, &head, sizeof(head));
	write_octets(w, octets, len);
}

static const uint8_t *octets_of(const struct sdp_piece *piece)
{
	const struct sdp_mem *mem = (void *)(uintptr_t)piece->cookie;

	return mem->base + piece->off;
}

static void write_unread(struct sdp_link *link, struct writer *w,
			 uint32_t *ret_cnt)
{
	struct sdp_piece piece;
	uint64_t off = 0;
	bool is_oob;

	for (*ret_cnt = 0; sdp_conn_peek(link->conn, off, &piece, &is_oob) == 1;
	     ++*ret_cnt) {
		write_piece(w, octets_of(&piece), piece.len,
			    is_oob ? SDP_BUF_OOB : 0);
		off += piece.len;
	}
}

static void write_unsent(struct sdp_link *link, struct writer *w,
			 uint32_t *ret_cnt)
{
	const struct sdp_pbuf *tail = link->tx.tail;
	struct sdp_piece piece;
	uint8_t flags;

	for (*ret_cnt = 0; sdp_conn_unsent(link->conn, (uint16_t)*ret_cnt,
					   &piece, &flags) == 1;
	     ++*ret_cnt)
		write_piece(w, octets_of(&piece), piece.len, flags);
	if (tail && tail->filled > tail->given) {
		write_piece(w, tail->mem.base + tail->given,
			    tail->filled - tail->given, 0);
		++*ret_cnt;
	}
}

static size_t write_all(struct sdp_link *link, uint8_t *octets)
{
	struct sdp_handover_head head = {
		.magic = MAGIC,
		.buf_size = link->opt.conn.buf_size,
		.ird = link->opt.conn.ird,
		.ord = link->opt.conn.ord,
		.layout = (uint8_t)link->opt.conn.layout,
		.is_shut = link->tx.is_shut,
		.has_shut = sdp_conn_has_shut(link->conn),
		.is_peer_closed = link->rx.is_peer_closed,
		.oob = link->rx.oob,
		.names = { link->names[0], link->names[1] },
	};
	struct writer w = { .at = octets, .len = sizeof(head) };

	write_unread(link, &w, &head.unread_cnt);
	write_unsent(link, &w, &head.unsent_cnt);
	if (octets)
		memcpy(octets, &head, sizeof(head));
	return w.len;
}

int sdp_link_hand_over(struct sdp_link *link, void **ret_octets,
		       size_t *ret_len)
{
	int ret = -EINVAL;

	util_lock(&link->lock);
	if (!(link_state(link) & LINK_BARE))
		goto unlock;
	/* Callers in this address space have lent memory and wait. */
	ret = -EBUSY;
	if (link->tx.zbuf.is_busy || link->rx.zbuf.is_busy)
		goto unlock;
	ret = -ENOMEM;
	*ret_len = write_all(link, NULL);
	*ret_octets = malloc(*ret_len);
	if (!*ret_octets)
		goto unlock;
	write_all(link, *ret_octets);
	sdp_conn_abort(link->conn, sdp_now_ns());
	sdp_drive(link, 0);
	ret = 0;
unlock:
	util_unlock(&link->lock);
	return ret;
}

/* ---- the new address space ---- */

static bool next_piece(const uint8_t **at, const uint8_t *end,
		       struct piece_head *ret_head)
{
	if ((size_t)(end - *at) < sizeof(*ret_head))
		return false;
	memcpy(ret_head, *at, sizeof(*ret_head));
	*at += sizeof(*ret_head);
	return ret_head->len && ret_head->len <= (size_t)(end - *at);
}

/* Return: 0; -EINVAL: opt->from is not valid. */
static int take_octets(struct sdp_handover *from,
		       const struct sdp_link_options *opt)
{
	const uint8_t *at;
	struct piece_head piece;
	uint64_t cnt;

	if (opt->from_len < sizeof(from->head))
		return -EINVAL;
	memcpy(&from->head, opt->from, sizeof(from->head));
	from->at = at = (const uint8_t *)opt->from + sizeof(from->head);
	from->end = (const uint8_t *)opt->from + opt->from_len;
	if (from->head.magic != MAGIC)
		return -EINVAL;
	cnt = (uint64_t)from->head.unread_cnt + from->head.unsent_cnt;
	for (; cnt > 0; cnt--, at += piece.len) {
		if (!next_piece(&at, from->end, &piece))
			return -EINVAL;
	}
	return at == from->end ? 0 : -EINVAL;
}

int sdp_handover_take(struct sdp_handover *from,
		      const struct sdp_link_options *opt,
		      struct sdp_link_options *ret_opt)
{
	struct sdp_link_options own = SDP_LINK_OPTIONS_INIT;
	int ret;

	if (opt)
		own = *opt;
	if (!own.from) {
		*ret_opt = own;
		return 0;
	}
	ret = take_octets(from, &own);
	if (ret)
		return ret;
	own.conn.buf_size = from->head.buf_size; /* SDP-242 */
	own.conn.ird = from->head.ird;
	own.conn.ord = from->head.ord;
	own.conn.layout = (enum sdp_layout)from->head.layout;
	*ret_opt = own;
	return 0;
}

static bool is_same_ip(const struct sockaddr_storage *a,
		       const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET6)
		return !memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
			       &((const struct sockaddr_in6 *)b)->sin6_addr,
			       sizeof(struct in6_addr));
	return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
	       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
}

int sdp_handover_admits(const struct sdp_handover *from,
			const struct sockaddr_storage *names)
{
	const struct sdp_handover_head *h = &from->head;

	if (!from->at)
		return 0;
	/* The port is not compared: the peer may have got another one (C18). */
	return is_same_ip(&names[0], &h->names[0]) &&
			       is_same_ip(&names[1], &h->names[1])
		       ? 0
		       : -EPERM;
}

/* Restores one piece, in as many buffers as it needs. */
static int restore_piece(struct sdp_link *link, const uint8_t *at,
			 const struct piece_head *piece)
{
	uint32_t done = 0;

	while (done < piece->len) {
		struct sdp_pbuf *buf = sdp_pool_get(&link->dev->pool);
		uint32_t n = piece->len - done;
		int ret;

		if (!buf)
			return -ENOMEM;
		n = n < buf->mem.len ? n : buf->mem.len;
		memcpy(buf->mem.base, at + done, n);
		done += n;
		ret = sdp_conn_inherit_octets(
			link->conn, &(struct sdp_piece){ (uintptr_t)buf, 0, n },
			piece->flags & SDP_BUF_OOB && done == piece->len);
		if (ret) {
			sdp_pool_put(&link->dev->pool, buf);
			return ret;
		}
	}
	return 0;
}

int sdp_handover_restore(const struct sdp_handover *from, struct sdp_link *link)
{
	const struct sdp_handover_head *h = &from->head;
	const uint8_t *at = from->at;
	struct piece_head piece;
	int ret;

	if (!from->at)
		return 0;
	util_lock(&link->lock);
	ret = sdp_conn_inherit(link->conn, h->has_shut, h->is_peer_closed);
	for (uint32_t i = 0; i < h->unread_cnt && !ret; i++) {
		(void)next_piece(&at, from->end, &piece);
		ret = restore_piece(link, at, &piece);
		at += piece.len;
	}
	link->names[0] = h->names[0];
	link->names[1] = h->names[1];
	link->rx.oob = h->oob;
	link->tx.is_shut = h->has_shut;
	link->tx.was_told = h->has_shut;
	util_unlock(&link->lock);
	return ret;
}

static int resume_piece(struct sdp_link *link, const uint8_t *at,
			const struct piece_head *piece)
{
	uint32_t done = 0;

	while (done < piece->len) {
		struct sdp_pbuf *buf = sdp_pool_get(&link->dev->pool);
		struct sdp_buf desc = { .cookie = (uintptr_t)buf };
		int ret;

		if (!buf)
			return -ENOMEM;
		desc.len = piece->len - done;
		if (desc.len > buf->mem.len)
			desc.len = buf->mem.len;
		memcpy(buf->mem.base, at + done, desc.len);
		done += desc.len;
		if (done == piece->len)
			desc.flags = (uint8_t)piece->flags;
		ret = sdp_conn_send(link->conn, &desc);
		if (ret) {
			sdp_pool_put(&link->dev->pool, buf);
			return ret;
		}
		buf->filled = buf->given = desc.len;
		link->tx.queued += desc.len;
	}
	return 0;
}

int sdp_handover_resume(const struct sdp_handover *from, struct sdp_link *link)
{
	const struct sdp_handover_head *h = &from->head;
	const uint8_t *at = from->at;
	struct piece_head piece;
	int ret = 0;

	if (!from->at)
		return 0;
	util_lock(&link->lock);
	for (uint32_t i = 0; i < h->unread_cnt + h->unsent_cnt && !ret; i++) {
		(void)next_piece(&at, from->end, &piece);
		if (i >= h->unread_cnt)
			ret = resume_piece(link, at, &piece);
		at += piece.len;
	}
	link->tx.is_shut |= h->is_shut;
	sdp_drive(link, 0);
	util_unlock(&link->lock);
	return ret;
}
