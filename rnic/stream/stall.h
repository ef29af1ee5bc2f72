/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The rest of an FPDU that does not come.  Under the lead. */
#ifndef RNIC_STREAM_STALL_H
#define RNIC_STREAM_STALL_H

#include "object.h"

/* After a pass: if the stream is within an FPDU, its time begins. */
void rnic_stall_begin(struct rnic_stream *stream);
/* stall.next_ns has come.  Return: whether the time of the FPDU is over. */
bool rnic_stall_is_over(struct rnic_stream *stream, uint64_t now_ns);

#endif
