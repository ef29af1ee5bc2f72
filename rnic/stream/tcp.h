/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A stream's TCP socket: its first carrier, and beside any other one. */
#ifndef RNIC_STREAM_TCP_H
#define RNIC_STREAM_TCP_H

#include "carrier.h"
#include "qp/state.h"

struct tcp_info;

extern const struct rnic_carrier rnic_tcp_carrier;

/* Most that is thrown away at a time. */
#define RNIC_STREAM_DISCARD (1u << 20)

/* The carrier's, for those that have TCP beside them.  @max: of octets that are
 * thrown away. */
ssize_t rnic_stream_tcp_send(struct rnic_stream *stream,
			     const struct iovec *iov, int cnt, int flags);
ssize_t rnic_stream_tcp_recv(struct rnic_stream *stream,
			     const struct iovec *iov, int cnt, size_t max);
void rnic_stream_tcp_fin(struct rnic_stream *stream);
int rnic_stream_tcp_error(const struct rnic_stream *stream);
uint32_t rnic_stream_tcp_emss(const struct rnic_stream *stream);
uint64_t rnic_stream_tcp_acked(const struct rnic_stream *stream);

/* What the socket holds; nothing is read.  Return: 1: octets; 0: FIN; -EAGAIN:
 * nothing; other -errno: it has failed. */
int rnic_stream_tcp_peek(const struct rnic_stream *stream);

/* Return: false: TCP does not say. */
bool rnic_stream_tcp_info(const struct rnic_stream *stream,
			  struct tcp_info *ret_info);

/* "qp 0x00012a from 192.0.2.1 port 4791 to 192.0.2.2 port 7", or "stream from
 * ..." when no QP has it, for log lines.  Return: @buf. */
const char *rnic_stream_name(const struct rnic_stream *stream,
			     char buf[RNIC_QP_NAME_LEN]);
#define RNIC_STREAM_NAME(stream)                                               \
	rnic_stream_name(stream, (char[RNIC_QP_NAME_LEN]){ 0 })

#endif
