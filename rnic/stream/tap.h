/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a stream sends and receives, for a command that captures it
 * (abi/usiw-packet.h).  The lead is held, or the stream has its owner.
 *
 * A look begins in the middle of a stream: with the first FPDU that begins
 * after it.  What it writes, and how much of it is lost, has no effect on the
 * stream.
 */
#ifndef RNIC_STREAM_TAP_H
#define RNIC_STREAM_TAP_H

#include "object.h"

struct iovec;

/* Before octets move; the fields of the stream are as they were. */
struct rnic_tap_look {
	uint64_t at; /* octets of this direction before */
	uint64_t tcp_octets;
};

void rnic_tap_begin(const struct rnic_stream *stream, bool is_sent,
		    struct rnic_tap_look *ret_look);

/* Octets have moved.  @len: how many; 0: FIN has come; < 0: none.  @iov: with
 * @cnt 0 they were thrown away. */
void rnic_tap_end(struct rnic_stream *stream, bool is_sent,
		  const struct rnic_tap_look *look, const struct iovec *iov,
		  int cnt, ssize_t len);

/* FIN goes out. */
void rnic_tap_fin(struct rnic_stream *stream);
/* The stream is about to be freed. */
void rnic_tap_free(struct rnic_stream *stream);

#endif
