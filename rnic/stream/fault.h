/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Faults of USIW_FAULT at the octets of a stream.  Under the lead.
 *
 * A stream that a rule may concern has a carrier of its own around its TCP
 * socket, from RUN on, and stays there: no shared memory.
 */
#ifndef RNIC_STREAM_FAULT_H
#define RNIC_STREAM_FAULT_H

#include "fault/rules.h"
#include "object.h"

/* A message of which one octet is another, while it is encoded
 * (fault-message.c). */
struct rnic_stream_changed {
	struct iovec iov[SMPA_IOV_MAX];
	uint8_t octet;
};

struct rnic_stream_fault {
	const struct rnic_carrier *under; /* which this one replaces */
	int error;	   /* it has been reset: that of all calls */
	bool is_silent;	   /* until until_ns */
	uint64_t until_ns; /* no octet leaves or arrives; 0 */
	uint64_t delay_ns; /* none leaves; 0 */
	uint8_t turn;	   /* of changed messages: the next may wait */
	struct rnic_stream_changed changed[2];
};

/* The stream has entered RUN with its QP.  Without memory it has no faults. */
void rnic_stream_fault_begin(struct rnic_stream *stream);

/* What befalls the connection and its QP, which may end. */
void rnic_stream_fault_act(struct rnic_stream *stream,
			   const struct rnic_fault_hits *hits);

/* Nothing leaves or arrives until then; UINT64_MAX: for ever. */
void rnic_stream_fault_silence(struct rnic_stream *stream, uint64_t until_ns);

/* The peer's acknowledgements do not arrive. */
bool rnic_stream_fault_is_silent(const struct rnic_stream *stream);

/* When rnic_stream_fault_serve() is due, which a pass has to follow; 0: not at
 * all. */
uint64_t rnic_stream_fault_ns(const struct rnic_stream *stream);
void rnic_stream_fault_serve(struct rnic_stream *stream, uint64_t now_ns);

#endif
