/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The Data Sink of a half-connection: its mode, the received SrcAvails, the
 * outstanding SinkAvails, and the data that a SendSm still brings
 * (doc/spec/sdp.md 3.6).
 */
#ifndef SDP_SINK_H
#define SDP_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include "msg/msg.h"

/* A received SrcAvail. @done: octets received inline, or read and
 * acknowledged. */
struct sdp_in_advert {
	uint64_t va;
	uint32_t stag;
	uint32_t len;
	uint32_t done;
};

/* An outstanding SinkAvail. */
struct sdp_out_advert {
	uint32_t stag;
	uint32_t len;
};

struct sdp_sink {
	enum sdp_mode mode;
	uint32_t nd;   /* NonDiscards (SDP-173) */
	uint64_t owed; /* octets that Data Messages bring for SendSms */
	struct sdp_in_advert *in; /* rings of cap */
	struct sdp_out_advert *out;
	uint16_t cap;
	uint16_t in_head, in_cnt;
	uint16_t out_head, out_cnt;
	bool is_cancelling; /* SinkAvailCancel is not Processed yet */
	uint32_t cancel_mseq;
};

/* How the Sink treats the payload of a message. */
enum sdp_sink_payload {
	SDP_SINK_STREAM, /* appended to the stream */
	SDP_SINK_SOLO,	 /* all data for the oldest advertised buffer */
};

/* What must be done after a SrcAvailCancel. */
enum sdp_sink_cancel {
	SDP_SINK_CANCEL_IGNORE, /* nothing: no SrcAvail was left (SDP-184) */
	SDP_SINK_CANCEL_NOW,	/* the adverts are gone: send one SendSm */
	SDP_SINK_CANCEL_WAIT,	/* the same after the running RDMA Reads */
};

/* @in, @out: storage for @cap advertisements each. */
void sdp_sink_init(struct sdp_sink *s, struct sdp_in_advert *in,
		   struct sdp_out_advert *out, uint16_t cap);

/* Restarts the half on another carrier (SDP-244). */
void sdp_sink_restart(struct sdp_sink *s);

/* The oldest SrcAvail if it may be handled now, that is, if @owed is 0.
 * Otherwise NULL. */
struct sdp_in_advert *sdp_sink_head(struct sdp_sink *s);

/* Whether the rules of this half allow another SinkAvail: mode, SrcAvails,
 * cancel (SDP-194, SDP-209). */
bool sdp_sink_may_advertise(const struct sdp_sink *s);

/* ---- messages sent ---- */

void sdp_sink_sent_sink_avail(struct sdp_sink *s, uint32_t stag, uint32_t len);

/* RdmaRdCompl is sent for @len octets of sdp_sink_head(). Returns whether the
 * advert is now Processed and removed. */
bool sdp_sink_sent_rd_compl(struct sdp_sink *s, uint32_t len);

/* A SendSm for the oldest SrcAvail is sent: Data Messages bring its rest. */
void sdp_sink_sent_send_sm(struct sdp_sink *s);

void sdp_sink_sent_cancel(struct sdp_sink *s, uint32_t mseq);

/* ModeChange with S=1 is sent: Buffered -> Combined. */
void sdp_sink_sent_change(struct sdp_sink *s);

/* ---- messages received ---- */

enum sdp_fault sdp_sink_on_payload(struct sdp_sink *s, uint32_t len,
				   enum sdp_sink_payload *ret_kind);

/* Also handles inline payload, as SDP_SINK_STREAM. Do not call
 * sdp_sink_on_payload() for it. @ret_is_taken: the advert is valid; false: a
 * SinkAvail makes it void. */
enum sdp_fault sdp_sink_on_src_avail(struct sdp_sink *s,
				     const struct sdp_msg *msg,
				     bool *ret_is_taken);

/* @ret_stag: STag of the SinkAvail that the message completes. */
enum sdp_fault sdp_sink_on_wr_compl(struct sdp_sink *s, uint32_t len,
				    uint32_t *ret_stag);

enum sdp_sink_cancel sdp_sink_on_src_cancel(struct sdp_sink *s,
					    bool is_reading);

/* After SDP_SINK_CANCEL_WAIT: the Reads have completed, and their RdmaRdCompl
 * was sent. Returns whether a SendSm is due. */
bool sdp_sink_finish_src_cancel(struct sdp_sink *s);

/* @acks_cancel: the MSeqAck acknowledges the SinkAvailCancel. */
void sdp_sink_on_cancel_ack(struct sdp_sink *s, bool acks_cancel);

void sdp_sink_on_discon(struct sdp_sink *s);

/* ModeChange with S=0 was received. */
enum sdp_fault sdp_sink_on_change(struct sdp_sink *s, enum sdp_mode to);

#endif
