/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A peer without an RNIC. */
#define _GNU_SOURCE
#include "rawpeer.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "os/tcp.h"
#include "qp/qp.h"
#include "stream/attach.h"
#include "stream/start.h"

#define RAW_STAGING ((size_t)256 * 1024)
#define RAW_SINK ((size_t)4 << 20)

void rawpeer_close(struct rawpeer *raw)
{
	rnic_stream_free(raw->stream);
	free(raw->rx);
	free(raw->tx);
	free(raw->sink);
	memset(raw, 0, sizeof(*raw));
}

void rawpeer_reset(struct rawpeer *raw)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 0 };

	must(!setsockopt(raw->fd, SOL_SOCKET, SO_LINGER, &linger,
			 sizeof(linger)));
	rawpeer_close(raw);
}

/* Return: 0; negative errno: the socket failed. */
static int raw_tx(struct rawpeer *raw)
{
	const struct iovec *iov;
	ssize_t len;
	int cnt;

	while ((cnt = smpa_conn_tx_prepare(raw->conn, &iov)) > 0) {
		len = rnic_tcp_send(raw->fd, iov, cnt, 0);
		if (len == -EAGAIN)
			return 0;
		if (len < 0)
			return (int)len;
		must(!smpa_conn_tx_commit(raw->conn, (size_t)len));
	}
	return 0;
}

static int raw_rx(struct rawpeer *raw)
{
	struct iovec iov[SMPA_IOV_MAX + 1];
	ssize_t len;
	int cnt = smpa_conn_rx_prepare(raw->conn, iov, SMPA_IOV_MAX + 1);

	must(cnt >= 0);
	if (!cnt)
		return 0;
	len = rnic_tcp_recv(raw->fd, iov, cnt);
	if (len == -EAGAIN)
		return 0;
	if (len < 0)
		return (int)len;
	if (len)
		must(!smpa_conn_rx_commit(raw->conn, (size_t)len));
	else
		smpa_conn_rx_eof(raw->conn);
	return 0;
}

static void raw_sink(struct rawpeer *raw, const struct smpa_event *ev)
{
	struct iovec iov = { .iov_len = ev->seg.len };
	size_t off = ev->seg.is_tagged ? 0 : ev->seg.mo;

	must(off + ev->seg.len <= RAW_SINK);
	iov.iov_base = raw->sink + off;
	raw->sink_len = off + ev->seg.len;
	must(!smpa_conn_sink(raw->conn, &iov, ev->seg.len ? 1 : 0));
}

struct smpa_event rawpeer_try(struct rawpeer *raw)
{
	struct smpa_event ev;
	bool has_read = false;

	for (;;) {
		if (smpa_conn_next_event(raw->conn, &ev) > 0) {
			if (ev.type == SMPA_EV_SEGMENT)
				raw_sink(raw, &ev);
			else if (ev.type != SMPA_EV_SENT)
				return ev;
			continue;
		}
		if (has_read)
			return (struct smpa_event){ .type = SMPA_EV_NONE };
		if (raw_tx(raw) < 0 || raw_rx(raw) < 0)
			return (struct smpa_event){ .type = SMPA_EV_NONE };
		has_read = true;
	}
}

#define RTR_STAG 1 /* an STag without memory */

/* An Initiator sends the RTR again while its peer sends nothing. */
static bool is_probe(const struct smpa_event *ev)
{
	return ev->type == SMPA_EV_MESSAGE && ev->msg.opcode == SMPA_OP_WRITE &&
	       !ev->msg.len && ev->msg.stag == RTR_STAG;
}

void rawpeer_join(struct rawpeer *raw, struct rnicpair *p, int side)
{
	uint64_t end_ms = until_ms() + RNICPAIR_LIMIT_MS;
	struct rnicpair_start start;
	struct smpa_event ev;
	int fd[2];

	memset(raw, 0, sizeof(*raw));
	rnicpair_sockets(p->opt.sockbuf, fd);
	rnicpair_start(&p->opt, fd, &start);
	raw->stream = start.stream[!side];
	raw->conn = raw->stream->conn;
	raw->fd = fd[!side];
	raw->rx = aligned_alloc(64, RAW_STAGING);
	raw->tx = aligned_alloc(64, RAW_STAGING);
	raw->sink = malloc(RAW_SINK);
	must(raw->rx && raw->tx && raw->sink);
	must(!smpa_conn_rx_lend(raw->conn, raw->rx, RAW_STAGING));
	must(!rnic_qp_attach_stream(p->side[side].qp, start.stream[side],
				    start.ird[side], start.ord[side],
				    p->opt.cm_ref));
	/* MPA-134: a Responder must not send before the Initiator's first
	 * message. */
	while (p->opt.rtr && smpa_conn_tx_is_held(raw->conn)) {
		ev = rawpeer_try(raw);
		/* On a slow machine the Initiator may already send the RTR
		 * again. */
		must(ev.type == SMPA_EV_NONE || is_probe(&ev));
		must(until_ms() < end_ms);
	}
}

struct smpa_event rawpeer_event_or_probe(struct rawpeer *raw)
{
	uint64_t end_ms = until_ms() + RNICPAIR_LIMIT_MS;
	struct smpa_event ev;

	for (;;) {
		struct pollfd pfd = { .fd = raw->fd, .events = POLLIN };
		int err = 0;
		socklen_t len = sizeof(err);

		ev = rawpeer_try(raw);
		if (ev.type != SMPA_EV_NONE)
			return ev;
		must(until_ms() < end_ms);
		poll(&pfd, 1, 10);
		if (!(pfd.revents & POLLERR))
			continue;
		must(!getsockopt(raw->fd, SOL_SOCKET, SO_ERROR, &err, &len));
		return ev;
	}
}

struct smpa_event rawpeer_event(struct rawpeer *raw)
{
	struct smpa_event ev;

	do {
		ev = rawpeer_event_or_probe(raw);
	} while (is_probe(&ev));
	return ev;
}

void rawpeer_send(struct rawpeer *raw, const struct smpa_msg *msg)
{
	uint64_t end_ms = until_ms() + RNICPAIR_LIMIT_MS;
	int rc;

	for (;;) {
		rc = smpa_conn_submit(raw->conn, msg);
		if (rc == -ENOBUFS) {
			/* Takes back the staging that the start phase lent. */
			must(!smpa_conn_tx_lend(raw->conn, NULL, 0));
			must(!smpa_conn_tx_lend(raw->conn, raw->tx,
						RAW_STAGING));
			continue;
		}
		if (rc != -EAGAIN)
			break;
		must(raw_tx(raw) == 0);
		must(until_ms() < end_ms);
	}
	must(rc == 0);
	while (smpa_conn_tx_pending(raw->conn)) {
		struct smpa_event ev;

		if (raw_tx(raw) < 0)
			return;
		must(until_ms() < end_ms);
		/* Only SENT events arrive while this end does not read. */
		if (!smpa_conn_tx_pending(raw->conn))
			while (smpa_conn_tx_is_idle(raw->conn) == false &&
			       smpa_conn_next_event(raw->conn, &ev) > 0)
				must(ev.type == SMPA_EV_SENT);
	}
}

void rawpeer_send_octets(struct rawpeer *raw, uint8_t opcode, const void *mem,
			 size_t len)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)mem,
			     .iov_len = len };
	struct smpa_msg msg = { .opcode = opcode,
				.quiet = true,
				.copy = true,
				.iov = &iov,
				.iovcnt = len ? 1 : 0,
				.len = (uint32_t)len };

	rawpeer_send(raw, &msg);
}

static void raw_tagged(struct rawpeer *raw, uint8_t opcode, uint32_t stag,
		       uint64_t to, const void *mem, size_t len)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)mem,
			     .iov_len = len };
	struct smpa_msg msg = { .opcode = opcode,
				.quiet = true,
				.copy = true,
				.stag = stag,
				.to = to,
				.iov = &iov,
				.iovcnt = len ? 1 : 0,
				.len = (uint32_t)len };

	rawpeer_send(raw, &msg);
}

void rawpeer_write(struct rawpeer *raw, uint32_t stag, uint64_t to,
		   const void *mem, size_t len)
{
	raw_tagged(raw, SMPA_OP_WRITE, stag, to, mem, len);
}

void rawpeer_respond(struct rawpeer *raw, uint32_t stag, uint64_t to,
		     const void *mem, size_t len)
{
	raw_tagged(raw, SMPA_OP_READ_RESPONSE, stag, to, mem, len);
}

void rawpeer_read(struct rawpeer *raw, uint32_t sink_stag, uint64_t sink_to,
		  uint32_t stag, uint64_t to, uint32_t len)
{
	struct smpa_msg msg = { .opcode = SMPA_OP_READ_REQUEST,
				.quiet = true,
				.read = { .sink_stag = sink_stag,
					  .sink_to = sink_to,
					  .len = len,
					  .src_stag = stag,
					  .src_to = to } };

	rawpeer_send(raw, &msg);
}

struct rnicpair_side *rawpeer_open(struct rawpeer *raw, struct rnicpair *p,
				   const struct rnicpair_options *opt)
{
	rnicpair_open_idle(p, opt);
	rawpeer_join(raw, p, 0);
	return &p->side[0];
}

void rawpeer_close_both(struct rawpeer *raw, struct rnicpair *p)
{
	rawpeer_close(raw);
	rnicpair_close(p);
}
