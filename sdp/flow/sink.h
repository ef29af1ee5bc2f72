/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The Data Sink of a half-connection: its mode, which SrcAvails came, how
 * many SinkAvails stand, what a SendSm still brings (doc/spec/sdp.md 3.6).
 */
#ifndef SDP_SINK_H
#define SDP_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include "flow/fault.h"
#include "msg/msg.h"

/* A SrcAvail that came; @done: inline, or read and acknowledged. */
struct sdp_in_advert {
	uint64_t va;
	uint32_t stag;
	uint32_t len;
	uint32_t done;
};

/* A SinkAvail that we sent. */
struct sdp_out_advert {
	uint32_t stag;
	uint32_t len;
};

struct sdp_sink {
	enum sdp_mode mode;
	uint32_t nd;		  /* NonDiscards (SDP-173) */
	uint64_t owed;		  /* octets that come by Data for SendSms */
	struct sdp_in_advert *in; /* rings of cap */
	struct sdp_out_advert *out;
	uint16_t cap;
	uint16_t in_head, in_cnt;
	uint16_t out_head, out_cnt;
	bool is_cancelling; /* SinkAvailCancel is not yet Processed */
	uint32_t cancel_mseq;
};

/* What a payload message is at the Sink. */
enum sdp_sink_payload {
	SDP_SINK_STREAM, /* appended to the stream */
	SDP_SINK_SOLO,	 /* all that the oldest advertised buffer gets */
};

/* What a SrcAvailCancel asks for. */
enum sdp_sink_cancel {
	SDP_SINK_CANCEL_IGNORE, /* nothing was left (SDP-184) */
	SDP_SINK_CANCEL_NOW,	/* adverts are gone: one SendSm is due */
	SDP_SINK_CANCEL_WAIT,	/* once the running RDMA Reads have ended */
};

/* @in, @out: storage for @cap advertisements each. */
void sdp_sink_init(struct sdp_sink *s, struct sdp_in_advert *in,
		   struct sdp_out_advert *out, uint16_t cap);

/* The connection starts anew, on another carrier (SDP-244). */
void sdp_sink_restart(struct sdp_sink *s);

/* The oldest SrcAvail if its turn is there: nothing owed.  Or NULL. */
struct sdp_in_advert *sdp_sink_head(struct sdp_sink *s);

/* Whether one more SinkAvail may go, as far as this half is concerned:
 * mode, SrcAvails, cancel (SDP-194, SDP-209). */
bool sdp_sink_may_advertise(const struct sdp_sink *s);

/* ---- what has been done -------------------------------------------------- */

void sdp_sink_sent_sink_avail(struct sdp_sink *s, uint32_t stag, uint32_t len);

/* @len octets of sdp_sink_head() were read: RdmaRdCompl goes out.  Returns
 * whether the advert is Processed, and so gone. */
bool sdp_sink_sent_rd_compl(struct sdp_sink *s, uint32_t len);

/* SendSm for the oldest SrcAvail goes out: its rest comes by Data. */
void sdp_sink_sent_send_sm(struct sdp_sink *s);

void sdp_sink_sent_cancel(struct sdp_sink *s, uint32_t mseq);

/* ModeChange with S=1 goes out: Buffered -> Combined. */
void sdp_sink_sent_change(struct sdp_sink *s);

/* ---- what has come --------------------------------------------------------
 */

enum sdp_fault sdp_sink_on_payload(struct sdp_sink *s, uint32_t len,
				   enum sdp_sink_payload *ret_kind);

/* Takes what is inline as well, as SDP_SINK_STREAM: sdp_sink_on_payload() is
 * not to be called for it.
 * @ret_is_taken: the advert stands; else a SinkAvail makes it void. */
enum sdp_fault sdp_sink_on_src_avail(struct sdp_sink *s,
				     const struct sdp_msg *msg,
				     bool *ret_is_taken);

/* @ret_stag: STag of the SinkAvail that the message is about. */
enum sdp_fault sdp_sink_on_wr_compl(struct sdp_sink *s, uint32_t len,
				    uint32_t *ret_stag);

enum sdp_sink_cancel sdp_sink_on_src_cancel(struct sdp_sink *s,
					    bool is_reading);

/* After SDP_SINK_CANCEL_WAIT: the Reads have ended, and their RdmaRdCompl is
 * out.  Returns whether a SendSm is due. */
bool sdp_sink_finish_src_cancel(struct sdp_sink *s);

/* @acks_cancel: its MSeqAck reaches the SinkAvailCancel. */
void sdp_sink_on_cancel_ack(struct sdp_sink *s, bool acks_cancel);

void sdp_sink_on_discon(struct sdp_sink *s);

/* ModeChange with S=0. */
enum sdp_fault sdp_sink_on_change(struct sdp_sink *s, enum sdp_mode to);

#endif
