/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The socket of a stream: every octet enters and leaves the stream here. */
#ifndef RNIC_STREAM_SOCKET_H
#define RNIC_STREAM_SOCKET_H

#include <sys/types.h>

#include "object.h"

struct tcp_info;

/* The only way out.  Return: as rnic_tcp_send(). */
ssize_t rnic_stream_send(struct rnic_stream *stream, const struct iovec *iov,
			 int cnt, int flags);

/* The only way in.  @cnt 0: the octets are thrown away.  Return: as
 * rnic_tcp_recv(). */
ssize_t rnic_stream_recv(struct rnic_stream *stream, const struct iovec *iov,
			 int cnt);

/* Throw away what is there.  Return: 1: the peer's FIN has come; 0: not yet;
 * -errno: the socket failed. */
int rnic_stream_discard(struct rnic_stream *stream);

/* Return: false: TCP does not say. */
bool rnic_stream_tcp_info(const struct rnic_stream *stream,
			  struct tcp_info *ret_info);

#endif
