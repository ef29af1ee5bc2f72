/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How far a poll reads ahead of the receives that are posted.  Under the lead.
 *
 * A peer that sends without a pause is ahead of a program that also posts the
 * receives again.  What is read then has to be held (qp/rnr.h) until its
 * receive comes, which costs one more copy.  The shared memory of the local
 * path keeps octets just as well.  So a poll reads about as many messages as
 * there are receives, and leaves the rest while the program takes its
 * completions.
 */
#ifndef RNIC_STREAM_READ_AHEAD_H
#define RNIC_STREAM_READ_AHEAD_H

#include <stddef.h>

#include "object.h"

/* Return: the most octets to read now; 0: none, the next poll looks again;
 * SIZE_MAX: no limit. */
size_t rnic_read_ahead_limit(struct rnic_stream *stream);

/* @len octets were read, at most @limit, and were @fpdu_cnt FPDUs. */
void rnic_read_ahead_note(struct rnic_stream *stream, size_t len,
			  uint64_t fpdu_cnt, size_t limit);

#endif
