/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A peer without an RNIC: the protocol engine on a socket, driven by the test.
 * A test can send what no QP would send, and see what a QP does not show.
 */
#ifndef RAWPEER_H
#define RAWPEER_H

#include "rnicpair.h"

struct rawpeer {
	struct rnic_stream *stream;
	struct smpa_conn *conn;
	int fd;
	void *rx, *tx;
	uint8_t *sink; /* payload of the current message */
	size_t sink_len;
};

/* Connects the IDLE QP of side @side to a raw peer in the other role. */
void rawpeer_join(struct rawpeer *raw, struct rnicpair *p, int side);
void rawpeer_close(struct rawpeer *raw);
/* Opens @p with IDLE QPs and connects side 0 to @raw. Return: that side. */
struct rnicpair_side *rawpeer_open(struct rawpeer *raw, struct rnicpair *p,
				   const struct rnicpair_options *opt);
void rawpeer_close_both(struct rawpeer *raw, struct rnicpair *p);
/* Closes with RST. */
void rawpeer_reset(struct rawpeer *raw);

/* Sends one message completely. Reads too, so that both ends can proceed. */
void rawpeer_send(struct rawpeer *raw, const struct smpa_msg *msg);
/* Sends @len octets. */
void rawpeer_send_octets(struct rawpeer *raw, uint8_t opcode, const void *mem,
			 size_t len);
void rawpeer_write(struct rawpeer *raw, uint32_t stag, uint64_t to,
		   const void *mem, size_t len);
/* Sends a Read Response, whether it was requested or not. */
void rawpeer_respond(struct rawpeer *raw, uint32_t stag, uint64_t to,
		     const void *mem, size_t len);
void rawpeer_read(struct rawpeer *raw, uint32_t sink_stag, uint64_t sink_to,
		  uint32_t stag, uint64_t to, uint32_t len);

/* The next event except SEGMENT and SENT; aborts at the time limit. NONE: the
 * socket failed (RST). An Initiator repeats its RTR, an empty Write, while its
 * peer sends nothing. On a slow machine this happens in any test, so it is
 * ignored. */
struct smpa_event rawpeer_event(struct rawpeer *raw);
struct smpa_event rawpeer_event_or_probe(struct rawpeer *raw);
/* The same without waiting. NONE: no event now. */
struct smpa_event rawpeer_try(struct rawpeer *raw);

#endif
