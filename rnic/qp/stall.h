/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The rest of an FPDU that does not come.  Under the lead. */
#ifndef RNIC_STALL_H
#define RNIC_STALL_H

#include "object.h"

/* Octets have come, or may. */
void rnic_stall_begin(struct rnic_stream *stream);
/* stall.next_ns has come.  Return: the rest of an FPDU does not come. */
bool rnic_stall_is_over(struct rnic_stream *stream, uint64_t now_ns);

#endif
