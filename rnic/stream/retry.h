/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A peer that acknowledges nothing any more.  Under the lead. */
#ifndef RNIC_STREAM_RETRY_H
#define RNIC_STREAM_RETRY_H

#include "object.h"

void rnic_retry_start(struct rnic_stream *stream);

/* Work or an answer was submitted: begin to look, if the QP has a retry
 * time. */
static inline void rnic_retry_begin(struct rnic_stream *stream)
{
	if (stream->qp && stream->qp->retry_ns)
		rnic_retry_start(stream);
}

/* look.next_ns has come.  Return: whether the retry time is over. */
bool rnic_retry_is_over(struct rnic_stream *stream, uint64_t now_ns);

#endif
