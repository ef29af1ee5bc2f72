/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The Data Source of a half-connection: its mode, its advertisements, the
 * advertisements of the peer, and the octets that are still to be transferred
 * (doc/spec/sdp.md 3.5).
 *
 * Octets of the half's stream have positions that start at 0 and never wrap.
 * @data_pos is the first octet that was neither sent nor acknowledged as read.
 *   It only grows, so the premature end of an advertisement needs no rewinding.
 */
#ifndef SDP_SOURCE_H
#define SDP_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "msg/msg.h"

/* An outstanding SrcAvail. */
struct sdp_src_advert {
	uint64_t pos; /* of its first octet */
	uint32_t mseq;
	uint32_t stag;
	uint32_t len;
};

/* A received SinkAvail. */
struct sdp_snk_advert {
	uint64_t va;
	uint32_t stag;
	uint32_t len;
	uint32_t non_discards;
};

struct sdp_source {
	enum sdp_mode mode;
	uint32_t pnd; /* PotentialNonDiscards (SDP-176) */
	uint64_t data_pos;
	uint64_t owed_end; /* a SendSm asked for Data Messages up to here */
	struct sdp_src_advert *src; /* rings of cap */
	struct sdp_snk_advert *snk;
	uint16_t cap;
	uint16_t src_head, src_cnt;
	uint16_t snk_head, snk_cnt;
	bool is_cancelling; /* SrcAvailCancel is not Processed yet */
	uint32_t cancel_mseq;
	bool is_switching; /* Pipelined -> Combined is not acknowledged yet */
	bool has_reissued;
	uint32_t switch_mseq;
	uint32_t switch_pnd;
};

/* @src, @snk: storage for @cap advertisements each. */
void sdp_source_init(struct sdp_source *s, struct sdp_src_advert *src,
		     struct sdp_snk_advert *snk, uint16_t cap);

/* Restarts the half on another carrier. Positions are kept (SDP-244). */
void sdp_source_restart(struct sdp_source *s);

/* ---- checks before sending ---- */

/* The first position that is not advertised. The next SrcAvail starts there. */
uint64_t sdp_source_next_pos(const struct sdp_source *s);

/* Data Messages may carry octets from data_pos up to the returned position;
 * @end: end of the octets that the ULP has given. If the result is data_pos, no
 * payload may be sent (SDP-200, SDP-204). */
uint64_t sdp_source_data_end(const struct sdp_source *s, uint64_t end);

/* Whether the mode allows another SrcAvail. */
bool sdp_source_may_advertise(const struct sdp_source *s);

/* The SinkAvail for the next RDMA Write, or NULL. */
const struct sdp_snk_advert *sdp_source_target(struct sdp_source *s);

/* Whether ModeChange to @to may be sent now (SDP-219 to SDP-223). */
bool sdp_source_may_change(const struct sdp_source *s, enum sdp_mode to);

/* ---- messages sent ---- */

/* A message with @len octets of payload is sent. */
void sdp_source_sent_payload(struct sdp_source *s, uint32_t len);

/* A SrcAvail for @len octets is sent. It carries the first @inlined octets. */
void sdp_source_sent_src_avail(struct sdp_source *s, uint32_t mseq,
			       uint32_t stag, uint32_t len, uint32_t inlined);

/* RdmaWrCompl for sdp_source_target() is sent. */
void sdp_source_sent_wr_compl(struct sdp_source *s, uint32_t len);

void sdp_source_sent_cancel(struct sdp_source *s, uint32_t mseq);
void sdp_source_sent_change(struct sdp_source *s, enum sdp_mode to,
			    uint32_t mseq);

/* ---- messages received ---- */

/* The peer acknowledged the ModeChange. Call it before the rest of the message
 * is handled. */
void sdp_source_on_change_ack(struct sdp_source *s);

enum sdp_fault sdp_source_on_sink_avail(struct sdp_source *s,
					const struct sdp_msg *msg);

/* @ret_stag: STag of the SrcAvail that the message completes. */
enum sdp_fault sdp_source_on_rd_compl(struct sdp_source *s, uint32_t len,
				      uint32_t *ret_stag);

/* @acks_cancel: the MSeqAck acknowledges the SrcAvailCancel. */
enum sdp_fault sdp_source_on_send_sm(struct sdp_source *s, bool acks_cancel);

/* SinkAvailCancel was received and no RDMA Write is running. Returns whether
 * adverts were cancelled, so that a SinkCancelAck is due (SDP-192). @was_cut:
 * the last Write filled only a part of its buffer. */
bool sdp_source_on_sink_cancel(struct sdp_source *s, bool was_cut);

/* ModeChange with S=1: the peer's Data Sink leaves Buffered mode. */
enum sdp_fault sdp_source_on_change(struct sdp_source *s, enum sdp_mode to);

#endif
