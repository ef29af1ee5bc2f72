/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Message numbers and send credit of a connection, in both directions
 * (doc/spec/sdp.md part 4).
 */
#ifndef SDP_CREDIT_H
#define SDP_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/fault.h"
#include "msg/msg.h"

/* Initial Bufs, smallest (SDP-36) and largest (SDP-18). */
#define SDP_BUFS_MIN 3u
#define SDP_BUFS_MAX 65535u

struct sdp_credit {
	/* what we may send */
	uint32_t next_mseq;
	uint32_t sent_cnt;   /* until has_ack */
	uint32_t acked;	     /* has_ack: newest MSeqAck */
	uint32_t start_cost; /* HelloAck sent as a Send: 1 (C6) */
	uint16_t peer_bufs;  /* newest Bufs */
	bool has_ack;	     /* an MSeqAck came that is not ambiguous */
	bool has_heard;	     /* a message came */
	/* what the peer may send */
	bool is_held;	    /* MSeqAck is held back (SDP-193) */
	uint16_t sent_bufs; /* newest Bufs that we sent */
	uint32_t rcv_mseq;  /* has_heard: of the newest message */
	uint32_t rcv_first; /* expected first MSeq, or one more (C4) */
	uint32_t rcv_cnt;
	uint32_t posted;       /* receives that stand, with the spare */
	uint32_t pool;	       /* receives that stand when all are posted */
	uint32_t sent_ack_cnt; /* messages that our newest MSeqAck covers */
	uint32_t held_cnt;     /* is_held: messages that may be covered */
	uint32_t update_cnt;   /* that came since our last message */
};

/* What a message needs of the credit (SDP-41 to SDP-44). */
enum sdp_credit_need {
	SDP_CREDIT_UPDATE = 1,	/* no payload, gives the peer credit */
	SDP_CREDIT_CONTROL = 2, /* no payload */
	SDP_CREDIT_PAYLOAD = 3,
};

/* Before Hello or HelloAck: @pool receives, one of them the spare, will be
 * posted.  @first_mseq, @peer_first_mseq: 0 but in tests. */
void sdp_credit_init(struct sdp_credit *credit, uint32_t pool,
		     uint32_t first_mseq, uint32_t peer_first_mseq);

/* Receives were posted. */
void sdp_credit_post(struct sdp_credit *credit, uint32_t cnt);

/* The Bufs that Hello and HelloAck tell; remembers that it was told. */
uint16_t sdp_credit_hello_bufs(struct sdp_credit *credit);

/* The peer's Hello or HelloAck told @bufs. */
void sdp_credit_on_hello(struct sdp_credit *credit, uint16_t bufs);

/* HelloAck goes out, or came, as a Send: it uses one receive (C6). */
void sdp_credit_hello_ack_sent(struct sdp_credit *credit);
void sdp_credit_hello_ack_came(struct sdp_credit *credit);

/* Send credit (SDP-35): 0 when it would be negative. */
uint32_t sdp_credit_get(const struct sdp_credit *credit);

/* Whether a message of that kind may go now (SDP-40 to SDP-44). */
bool sdp_credit_allows(const struct sdp_credit *credit,
		       enum sdp_credit_need need);

/* Whether an update is to go out: the peer's credit is low, or much was
 * posted (rule 6, SDP-38, SDP-45).  SDP-41 may still forbid it. */
bool sdp_credit_is_update_due(const struct sdp_credit *credit);

/* Whether the peer is at one credit or none, but only updates came since our
 * last message.  Two ends with two free receives each would answer each
 * other's updates for ever: the owner answers at once the first time, then
 * after a time that grows (rule 6). */
bool sdp_credit_is_update_lazy(const struct sdp_credit *credit);

/* A message goes out: fills bufs, mseq and mseqack of @msg. */
void sdp_credit_send(struct sdp_credit *credit, struct sdp_msg *msg);

/* A message came: checks and takes its number, its MSeqAck and its Bufs. */
enum sdp_fault sdp_credit_recv(struct sdp_credit *credit,
			       const struct sdp_msg *msg);

/* Whether the peer acknowledged our message @mseq. */
bool sdp_credit_is_acked(const struct sdp_credit *credit, uint32_t mseq);

/* From the message that just came on, nothing is acknowledged (SDP-193). */
void sdp_credit_hold(struct sdp_credit *credit);
void sdp_credit_release(struct sdp_credit *credit);

#endif
