/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Why a connection ends other than gracefully.  V1 to V22 are the violations
 * of doc/spec/sdp.md part 7.
 */
#ifndef SDP_FAULT_H
#define SDP_FAULT_H

enum sdp_fault {
	SDP_FAULT_NONE,
	SDP_FAULT_LENGTH,	/* V1: octets and Len do not agree; V7 */
	SDP_FAULT_MID,		/* V2: MID reserved, or not now */
	SDP_FAULT_MSEQ,		/* V3: not the next message */
	SDP_FAULT_MSEQACK,	/* V4: what was not sent, or backwards */
	SDP_FAULT_CREDIT,	/* V5: beyond the credit or the buffer size */
	SDP_FAULT_OOB,		/* V6: OOB_PRES without an octet */
	SDP_FAULT_AVAIL,	/* V8: length of an advertisement */
	SDP_FAULT_SRC_AVAIL,	/* V9: SrcAvail that the mode forbids */
	SDP_FAULT_SINK_AVAIL,	/* V10: SinkAvail that the mode forbids */
	SDP_FAULT_ADVERTS,	/* V11: more than MaxAdverts */
	SDP_FAULT_RD_COMPL,	/* V12: RdmaRdCompl, SendSm out of place */
	SDP_FAULT_WR_COMPL,	/* V13: RdmaWrCompl out of place */
	SDP_FAULT_STAG,		/* V14: another STag was invalidated */
	SDP_FAULT_PAYLOAD,	/* V15: payload behind a SrcAvail */
	SDP_FAULT_NON_DISCARDS, /* V16: ahead of what was sent */
	SDP_FAULT_MODE,		/* V17: ModeChange out of place */
	SDP_FAULT_RESIZE,	/* V18: ChRcvBuf, ChRcvBufAck out of place */
	SDP_FAULT_CLOSED,	/* V19: after DisConn; AbortConn without it */
	SDP_FAULT_SUSP,		/* V20: around SuspComm */
	SDP_FAULT_HELLO,	/* V21: Hello or HelloAck is refused */
	SDP_FAULT_LLP,		/* V22: the carrier reported an error */
	SDP_FAULT_LLP_LOST,	/* the carrier ended without DisConn */
	SDP_FAULT_PEER_ABORT,	/* AbortConn came */
	SDP_FAULT_LOCAL_ABORT,	/* the owner wanted it */
	SDP_FAULT_TIMEOUT,	/* the peer did not answer in time */
	SDP_FAULT_MOVE,		/* no other carrier took over */
};

#endif
