/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Why a connection ended abnormally. V1 to V22 are the violations of
 * doc/spec/sdp.md part 7.
 */
#ifndef SDP_FAULT_H
#define SDP_FAULT_H

enum sdp_fault {
	SDP_FAULT_NONE,
	SDP_FAULT_LENGTH,	/* V1: Len does not match the octets; V7 */
	SDP_FAULT_MID,		/* V2: MID is reserved or not allowed now */
	SDP_FAULT_MSEQ,		/* V3: MSeq is not the next one */
	SDP_FAULT_MSEQACK,	/* V4: MSeqAck goes backwards or too far */
	SDP_FAULT_CREDIT,	/* V5: exceeds the credit or the buffer size */
	SDP_FAULT_OOB,		/* V6: OOB_PRES without payload */
	SDP_FAULT_AVAIL,	/* V8: invalid length of an advertisement */
	SDP_FAULT_SRC_AVAIL,	/* V9: SrcAvail is not allowed in this mode */
	SDP_FAULT_SINK_AVAIL,	/* V10: SinkAvail is not allowed in this mode */
	SDP_FAULT_ADVERTS,	/* V11: more than MaxAdverts */
	SDP_FAULT_RD_COMPL,	/* V12: unexpected RdmaRdCompl or SendSm */
	SDP_FAULT_WR_COMPL,	/* V13: unexpected RdmaWrCompl */
	SDP_FAULT_STAG,		/* V14: the wrong STag was invalidated */
	SDP_FAULT_PAYLOAD,	/* V15: unexpected payload after a SrcAvail */
	SDP_FAULT_NON_DISCARDS, /* V16: NonDiscards exceeds the messages sent */
	SDP_FAULT_MODE,		/* V17: unexpected ModeChange */
	SDP_FAULT_RESIZE,	/* V18: unexpected ChRcvBuf or ChRcvBufAck */
	SDP_FAULT_CLOSED, /* V19: message after DisConn; AbortConn without it */
	SDP_FAULT_SUSP,	  /* V20: unexpected message around SuspComm */
	SDP_FAULT_HELLO,  /* V21: invalid Hello or HelloAck */
	SDP_FAULT_LLP,	  /* V22: the carrier reported an error */
	SDP_FAULT_LLP_LOST,    /* the carrier ended without DisConn */
	SDP_FAULT_PEER_ABORT,  /* AbortConn was received */
	SDP_FAULT_LOCAL_ABORT, /* the owner aborted */
	SDP_FAULT_TIMEOUT,     /* the peer did not answer in time */
	SDP_FAULT_MOVE,	       /* no new carrier could be made */
};

#endif
