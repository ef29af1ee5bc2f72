/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Encoding of SDP Messages: the headers of draft-pinkerton-iwarp-sdp-01,
 * section 6. Layouts and requirements are those of doc/spec/sdp.md.
 */
#ifndef SDP_MSG_H
#define SDP_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "msg/fault.h"

/* Message identifiers (1.3). */
enum sdp_mid {
	SDP_MID_HELLO = 0x00,
	SDP_MID_HELLO_ACK = 0x01,
	SDP_MID_DISCONN = 0x02,
	SDP_MID_ABORT_CONN = 0x03,
	SDP_MID_SEND_SM = 0x04,
	SDP_MID_RDMA_WR_COMPL = 0x05,
	SDP_MID_RDMA_RD_COMPL = 0x06,
	SDP_MID_MODE_CHANGE = 0x07,
	SDP_MID_SRC_AVAIL_CANCEL = 0x08,
	SDP_MID_SINK_AVAIL_CANCEL = 0x09,
	SDP_MID_SINK_CANCEL_ACK = 0x0a,
	SDP_MID_CH_RCV_BUF = 0x0b,
	SDP_MID_CH_RCV_BUF_ACK = 0x0c,
	SDP_MID_SUSP_COMM = 0x0d,
	SDP_MID_SUSP_COMM_ACK = 0x0e,
	SDP_MID_SINK_AVAIL = 0xfd,
	SDP_MID_SRC_AVAIL = 0xfe,
	SDP_MID_DATA = 0xff,
};

/* Flags of the BSDH (1.2); the other bits are reserved. */
#define SDP_FLAG_OOB_PRES 0x01u
#define SDP_FLAG_OOB_PEND 0x02u
#define SDP_FLAG_REQ_PIPE 0x04u
#define SDP_FLAGS 0x07u

/* Sizes of headers in octets. */
#define SDP_BSDH_SIZE 16u
#define SDP_HELLO_SIZE 32u
#define SDP_HELLO_ACK_SIZE 28u
#define SDP_SRC_AVAIL_SIZE 32u
#define SDP_SINK_AVAIL_SIZE 36u
/* The size of the largest headers of a message. */
#define SDP_HEADER_MAX 36u

/* Minimum size of a Private Buffer (SDP-31); maximum size of a buffer and of an
 * advert (1.6). */
#define SDP_BUF_SIZE_MIN 37u
#define SDP_LEN_MAX 0x80000000u

/* Major and minor number of this version of the protocol (SDP-56). */
#define SDP_VERSION_MAJOR 1
#define SDP_VERSION_MINOR 1

/* Modes of a half-connection, with their values in a ModeChange (1.7). */
enum sdp_mode {
	SDP_MODE_BUFFERED = 0,
	SDP_MODE_COMBINED = 1,
	SDP_MODE_PIPELINED = 2,
};

/*
 * The two readings of the draft's figures (C1): which end of a word is the
 * left-most column. Both ends of a connection need the same layout.
 */
enum sdp_layout {
	SDP_LAYOUT_FIGURE,   /* left-most column first on the wire */
	SDP_LAYOUT_MIRRORED, /* as InfiniBand's SDP on the wire (1.9) */
};

/* A message in host order. The MID selects the member of the union. */
struct sdp_msg {
	uint8_t mid;
	uint8_t flags; /* SDP_FLAG_*; reserved bits are cleared */
	uint16_t bufs;
	uint32_t mseq;
	uint32_t mseqack;
	uint32_t payload_len; /* octets after the headers */
	union {
		struct {
			uint16_t max_adverts;
			uint8_t min_v, maj_v;	 /* 0 to 15 */
			uint32_t des_rem_rcv_sz; /* Hello only */
			uint32_t rcv_sz;	 /* LocalRcvSz, ActRcvSz */
			uint16_t ird, ord;
		} hello; /* Hello, HelloAck */
		struct {
			uint32_t len;
			uint32_t stag;
			uint64_t va;
			uint32_t non_discards; /* SinkAvail only */
		} avail;		       /* SrcAvail, SinkAvail */
		uint32_t compl_len;	       /* RdmaWrCompl, RdmaRdCompl */
		struct {
			uint8_t mode;	   /* enum sdp_mode */
			bool is_send_half; /* S: it applies to the receiver's
					      send half */
		} change;		   /* ModeChange */
		uint32_t rcv_buf_size;	   /* ChRcvBuf, ChRcvBufAck */
		uint16_t susp_port;	   /* SuspComm */
	};
};

/* Octets of BSDH and extended header; 0: not a valid MID. */
size_t sdp_mid_header_size(uint8_t mid);

/* Whether messages of this MID may have ULP payload. */
bool sdp_mid_may_have_payload(uint8_t mid);

/* Whether a message is sent as Send with Solicited Event (SDP-231, 232). */
bool sdp_msg_is_solicited(uint8_t mid, uint8_t flags);

/**
 * sdp_msg_encode - write BSDH and extended header
 * @out: at least SDP_HEADER_MAX octets.
 *
 * Computes Len from the MID and @msg->payload_len (SDP-19). The payload follows
 * the headers. Reserved bits are zero (SDP-7, SDP-26).
 * Return: octets written.
 */
size_t sdp_msg_encode(const struct sdp_msg *msg, enum sdp_layout layout,
		      uint8_t *out);

/**
 * sdp_msg_decode - decode a message that fills its buffer
 * @buf, @len: all octets received.
 *
 * Return: SDP_FAULT_NONE, and *ret_msg is filled; the payload starts at
 *   sdp_mid_header_size(ret_msg->mid). Otherwise the reason, and *ret_msg is
 *   unchanged. Reserved bits are ignored.
 */
enum sdp_fault sdp_msg_decode(const uint8_t *buf, size_t len,
			      enum sdp_layout layout, struct sdp_msg *ret_msg);

/**
 * sdp_msg_decode_padded - decode a Hello or HelloAck from private data
 *
 * As sdp_msg_decode(), but accepts zeros after the message: some carriers pad
 * private data (part 5).
 */
enum sdp_fault sdp_msg_decode_padded(const uint8_t *buf, size_t len,
				     enum sdp_layout layout,
				     struct sdp_msg *ret_msg);

#endif
