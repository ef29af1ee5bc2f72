/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Message numbers and send credit of a connection, in both directions
 * (doc/spec/sdp.md part 4).
 */
#ifndef SDP_CREDIT_H
#define SDP_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "msg/msg.h"

/* Initial Bufs, smallest (SDP-36) and largest (SDP-18). */
#define SDP_BUFS_MIN 3u
#define SDP_BUFS_MAX 65535u

struct sdp_credit {
	/* what we may send */
	uint32_t next_mseq;
	uint32_t sent_cnt;  /* counted until has_ack */
	uint32_t acked;	    /* has_ack: the newest MSeqAck */
	uint16_t peer_bufs; /* the newest Bufs */
	bool has_ack;	    /* an unambiguous MSeqAck was received */
	bool has_heard;	    /* a message was received */
	/* what the peer may send */
	bool is_held;	    /* MSeqAck is held back (SDP-193) */
	uint16_t sent_bufs; /* the newest Bufs that we sent */
	uint32_t rcv_mseq;  /* has_heard: MSeq of the newest message */
	uint32_t rcv_first; /* expected first MSeq, or one more (C4) */
	uint32_t rcv_cnt;
	uint32_t posted;       /* posted receives, with the spare */
	uint32_t pool;	       /* receives when all are posted */
	uint32_t sent_ack_cnt; /* messages that we have acknowledged */
	uint32_t held_cnt;     /* is_held: messages that may be acknowledged */
	uint32_t update_cnt;   /* updates received since our last message */
};

/* How much credit a message needs (SDP-41 to SDP-44). */
enum sdp_credit_need {
	SDP_CREDIT_UPDATE = 1,	/* no payload, gives the peer credit */
	SDP_CREDIT_CONTROL = 2, /* no payload */
	SDP_CREDIT_PAYLOAD = 3,
};

/* Call it before Hello or HelloAck. @pool receives will be posted; one of them
 * is the spare. @first_mseq, @peer_first_mseq: 0 except in tests. */
void sdp_credit_init(struct sdp_credit *credit, uint32_t pool,
		     uint32_t first_mseq, uint32_t peer_first_mseq);

/* @cnt receives were posted. */
void sdp_credit_post(struct sdp_credit *credit, uint32_t cnt);

/* The Bufs for Hello or HelloAck. Remembers that the peer was told. */
uint16_t sdp_credit_hello_bufs(struct sdp_credit *credit);

/* The peer's Hello or HelloAck has @bufs. */
void sdp_credit_on_hello(struct sdp_credit *credit, uint16_t bufs);

/* HelloAck came as a Send and used one receive. The peer may count it (C6). */
void sdp_credit_hello_ack_came(struct sdp_credit *credit);

/* Send credit (SDP-35); 0 if the formula gives a negative number. */
uint32_t sdp_credit_get(const struct sdp_credit *credit);

/* Whether a message of that kind may be sent now (SDP-40 to SDP-44). */
bool sdp_credit_allows(const struct sdp_credit *credit,
		       enum sdp_credit_need need);

/* Whether the peer's MSeqAck 0 may acknowledge message 0. The peer then
 * computes one credit more for us than sdp_credit_get() does (rule 11). */
bool sdp_credit_is_ambiguous(const struct sdp_credit *credit);

/* Whether an update is due: the peer's credit is low, or many receives were
 * posted (rule 6, SDP-38, SDP-45). SDP-41 may still forbid it. */
bool sdp_credit_is_update_due(const struct sdp_credit *credit);

/* Whether the peer has at most one credit, but sent only updates since our last
 * message. Two ends with two free receives each would answer each other's
 * updates for ever. The owner therefore answers at once the first time, then
 * with growing delays (rule 6). */
bool sdp_credit_is_update_lazy(const struct sdp_credit *credit);

/* A message is sent: fills bufs, mseq and mseqack of @msg. */
void sdp_credit_send(struct sdp_credit *credit, struct sdp_msg *msg);

/* A message was received: checks and takes over its MSeq, MSeqAck and Bufs. */
enum sdp_fault sdp_credit_recv(struct sdp_credit *credit,
			       const struct sdp_msg *msg);

/* Whether the peer acknowledged our message @mseq. */
bool sdp_credit_is_acked(const struct sdp_credit *credit, uint32_t mseq);

/* Acknowledges nothing from the message just received on (SDP-193). */
void sdp_credit_hold(struct sdp_credit *credit);
void sdp_credit_release(struct sdp_credit *credit);

#endif
