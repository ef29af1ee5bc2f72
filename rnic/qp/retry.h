/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A peer that acknowledges nothing any more.  Under the lead. */
#ifndef RNIC_RETRY_H
#define RNIC_RETRY_H

#include "object.h"

/* There is work, and look.next_ns is 0. */
void rnic_retry_begin(struct rnic_stream *stream);
/* look.next_ns has come.  Return: the peer cannot be reached any more. */
bool rnic_retry_is_over(struct rnic_stream *stream, uint64_t now_ns);

#endif
