/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A peer without RNIC: the protocol engine over a socket, driven by the test. A
 * test can send what no QP would send, and see what a QP does not show.
 */
#ifndef RAWPEER_H
#define RAWPEER_H

#include "rnicpair.h"

struct rawpeer {
	struct rnic_stream *stream;
	struct smpa_conn *conn;
	int fd;
	void *rx, *tx;
	uint8_t *sink; /* payload of the message under way */
	size_t sink_len;
	bool is_sink_kept; /* tagged payload is thrown away */
};

/* Joins the IDLE QP of side @side with a raw peer that is the other role. */
void rawpeer_join(struct rawpeer *raw, struct rnicpair *p, int side);
void rawpeer_close(struct rawpeer *raw);
/* Opens @p with IDLE QPs and joins side 0 with @raw.  Return: that side. */
struct rnicpair_side *rawpeer_open(struct rawpeer *raw, struct rnicpair *p,
				   const struct rnicpair_options *opt);
void rawpeer_close_both(struct rawpeer *raw, struct rnicpair *p);
/* Closes with RST. */
void rawpeer_reset(struct rawpeer *raw);

/* Sends one message whole (reads as well, so that both can move on). */
void rawpeer_send(struct rawpeer *raw, const struct smpa_msg *msg);
/* A Send of @len octets. */
void rawpeer_send_octets(struct rawpeer *raw, uint8_t opcode, const void *mem,
			 size_t len);
void rawpeer_write(struct rawpeer *raw, uint32_t stag, uint64_t to,
		   const void *mem, size_t len);
/* A Read Response, asked for or not. */
void rawpeer_respond(struct rawpeer *raw, uint32_t stag, uint64_t to,
		     const void *mem, size_t len);
void rawpeer_read(struct rawpeer *raw, uint32_t sink_stag, uint64_t sink_to,
		  uint32_t stag, uint64_t to, uint32_t len);

/* The next event but SEGMENT and SENT; aborts at the time limit.  NONE: the
 * socket failed (RST).  An Initiator that is not spoken to repeats its RTR, an
 * empty Write: on a slow machine that happens in any test, and is passed
 * over. */
struct smpa_event rawpeer_event(struct rawpeer *raw);
struct smpa_event rawpeer_event_or_probe(struct rawpeer *raw);
/* The same without waiting; NONE: nothing now. */
struct smpa_event rawpeer_try(struct rawpeer *raw);

#endif
