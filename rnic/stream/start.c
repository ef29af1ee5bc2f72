/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Streams in the start phase: made, stepped through the start exchange,
 * freed. */
#include "start.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "util/alloc.h"
#include "util/env.h"
#include "os/addr.h"
#include "os/fd.h"
#include "os/guard.h"
#include "os/tcp.h"
#include "tap.h"
#include "tcp.h"

static int stream_lend_start(struct rnic_stream *stream)
{
	int rc;

	stream->start_rx = malloc(SMPA_START_STAGING_MIN);
	stream->start_tx = aligned_alloc(16, SMPA_START_STAGING_MIN);
	if (!stream->start_rx || !stream->start_tx)
		return -ENOMEM;
	rc = smpa_conn_rx_lend(stream->conn, stream->start_rx,
			       SMPA_START_STAGING_MIN);
	if (rc < 0)
		return rc;
	return smpa_conn_tx_lend(stream->conn, stream->start_tx,
				 SMPA_START_STAGING_MIN);
}

static void stream_release(struct rnic_stream *stream)
{
	smpa_conn_free(stream->conn);
	free(stream->start_rx);
	free(stream->start_tx);
	free(stream);
}

/* A protocol object is written to with each message. */
static void *conn_alloc(void *mem_ctx, size_t size)
{
	(void)mem_ctx;
	return util_alloc_lines(1, size);
}

static void conn_free(void *mem_ctx, void *ptr)
{
	(void)mem_ctx;
	free(ptr);
}

int rnic_stream_new(int fd, const struct smpa_options *opt,
		    struct rnic_stream **ret_stream)
{
	struct rnic_stream *stream = util_alloc_lines(1, sizeof(*stream));
	struct smpa_options own = *opt;
	int on = 1, rc;

	if (!stream)
		return -ENOMEM;
	stream->source.fd = fd;
	stream->carrier = &rnic_tcp_carrier;
	stream->meet_fd = -1;
	stream->is_initiator = opt->role == SMPA_INITIATOR;
	own.guard = rnic_guard;
	own.alloc = conn_alloc;
	own.free = conn_free;
	rc = smpa_conn_new(&stream->conn, &own);
	if (rc < 0)
		goto release;
	rc = stream_lend_start(stream);
	if (rc < 0)
		goto release;
	/* MPA-75: FPDUs go out at once, in segments of their own size. */
	rnic_tcp()->setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	*ret_stream = stream;
	return 0;
release:
	stream_release(stream);
	return rc;
}

int rnic_stream_start_flush(struct rnic_stream *stream)
{
	const struct iovec *iov;
	ssize_t len;
	int cnt;

	while ((cnt = smpa_conn_tx_prepare(stream->conn, &iov)) > 0) {
		len = rnic_stream_send(stream, iov, cnt, 0);
		if (len == -EAGAIN)
			return 0;
		if (len < 0)
			return (int)len;
		smpa_conn_tx_commit(stream->conn, (size_t)len);
	}
	return 0;
}

static void stream_established(struct rnic_stream *stream,
			       const struct smpa_event *ev)
{
	stream->has_tx_markers = ev->start.tx_markers;
	stream->crc = ev->start.has_crc ? USIW_RES_CRC_TX | USIW_RES_CRC_RX : 0;
}

int rnic_stream_start_step(struct rnic_stream *stream,
			   struct smpa_event *ret_ev)
{
	struct iovec iov[SMPA_IOV_MAX + 1];
	ssize_t len;
	int cnt, rc;

	rc = rnic_stream_start_flush(stream);
	if (rc < 0)
		return rc;
	for (;;) {
		if (smpa_conn_next_event(stream->conn, ret_ev)) {
			/* What the event queued, such as a TERMINATE, is sent
			 * too; an RTR waits until a QP is there. */
			if (ret_ev->type == SMPA_EV_ESTABLISHED)
				stream_established(stream, ret_ev);
			else
				rnic_stream_start_flush(stream);
			return 1;
		}
		cnt = smpa_conn_rx_prepare(stream->conn, iov, SMPA_IOV_MAX + 1);
		if (cnt <= 0)
			return cnt;
		len = rnic_stream_recv(stream, iov, cnt);
		if (len == -EAGAIN)
			return 0;
		if (len < 0)
			return (int)len;
		if (len == 0)
			smpa_conn_rx_eof(stream->conn);
		else
			smpa_conn_rx_commit(stream->conn, (size_t)len);
		stream->start_taken += (size_t)len;
	}
}

int rnic_stream_start_is_heard(const struct rnic_stream *stream)
{
	int rc = rnic_stream_tcp_peek(stream);

	if (rc > 0)
		return 1;
	return rc == -EAGAIN ? 0 : -ECONNRESET;
}

uint32_t rnic_stream_start_wants(const struct rnic_stream *stream)
{
	return smpa_conn_tx_pending(stream->conn) ? EPOLLIN | EPOLLOUT
						  : EPOLLIN;
}

void rnic_stream_free(struct rnic_stream *stream)
{
	if (!stream)
		return;
	rnic_tap_free(stream);
	rnic_fd_close(stream->source.fd);
	stream_release(stream);
}

/* MPA-17: C=0 only if the administrator asks for it; "auto" asks for it on this
 * machine. */
static bool start_wants_no_crc(const struct sockaddr_storage *peer)
{
	switch (util_settings()->crc) {
	case UTIL_CRC_ON:
		return false;
	case UTIL_CRC_OFF:
		return true;
	case UTIL_CRC_AUTO:
		return rnic_addr_is_own(peer);
	}
	return false;
}

void rnic_stream_start_options(const struct sockaddr_storage *peer,
			       struct smpa_options *opt)
{
	opt->no_crc = start_wants_no_crc(peer);
	opt->want_markers = util_settings()->markers; /* C-5 */
	if (util_settings()->mpa_rev0 == UTIL_MPA_REV0_PERMISSIVE)
		opt->rev0 = SMPA_REV0_PERMISSIVE; /* C-4 */
	/* MPA2-16: the READs of a peer that we have to keep. */
	opt->ird_max =
		(uint16_t)(util_settings()->ird ? util_settings()->ird : 1);
	opt->rtr = util_settings()->rtr ? SMPA_RTR_WRITE | SMPA_RTR_READ : 0;
}
