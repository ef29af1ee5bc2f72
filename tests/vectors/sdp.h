/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * SDP Messages: those of doc/spec/sdp.md 1.10, and one of each other kind, made
 * by hand from 1.3 to 1.9.
 */
#ifndef TEST_VECTORS_SDP_H
#define TEST_VECTORS_SDP_H

#include "msg/msg.h"

struct sdp_vector {
	const char *name, *origin;
	const char *hex;
	enum sdp_layout layout;
	struct sdp_msg msg;
	const char *payload;
};

#define FIGURE SDP_LAYOUT_FIGURE
#define MIRRORED SDP_LAYOUT_MIRRORED
#define BSDH(m, f, b, seq, ack, n)                                             \
	.mid = (m), .flags = (f), .bufs = (b), .mseq = (seq),                  \
	.mseqack = (ack), .payload_len = (n)
#define HELLO_VALUES                                                           \
	.hello = { .max_adverts = 8,                                           \
		   .min_v = 1,                                                 \
		   .maj_v = 1,                                                 \
		   .des_rem_rcv_sz = 16384,                                    \
		   .rcv_sz = 16384,                                            \
		   .ird = 4,                                                   \
		   .ord = 4 }
#define HELLO_ACK_VALUES                                                       \
	.hello = { .max_adverts = 8,                                           \
		   .min_v = 1,                                                 \
		   .maj_v = 1,                                                 \
		   .rcv_sz = 16384,                                            \
		   .ird = 4,                                                   \
		   .ord = 4 }
/* Every field has a different value, so that a test detects swapped fields. */
#define HELLO_APART                                                            \
	.hello = { .max_adverts = 0x0102,                                      \
		   .min_v = 2,                                                 \
		   .maj_v = 1,                                                 \
		   .des_rem_rcv_sz = 0x03040506,                               \
		   .rcv_sz = 0x0708090a,                                       \
		   .ird = 0x0b0c,                                              \
		   .ord = 0x0d0e }

/* clang-format off */
static const struct sdp_vector sdp_vectors[] = {
	{ "Hello", "1.10",
	  "00100000 00000020 00000000 00000000 00080011 00004000 00004000"
	  "00040004", FIGURE,
	  { BSDH(SDP_MID_HELLO, 0, 16, 0, 0, 0), HELLO_VALUES }, "" },
	{ "HelloAck", "1.10",
	  "00100001 0000001c 00000000 00000000 00080011 00004000 00040004",
	  FIGURE,
	  { BSDH(SDP_MID_HELLO_ACK, 0, 16, 0, 0, 0), HELLO_ACK_VALUES }, "" },
	{ "Hello, all fields different", "1.4",
	  "00100000 00000020 00000000 00000000 01020021 03040506 0708090a"
	  "0b0c0d0e", FIGURE,
	  { BSDH(SDP_MID_HELLO, 0, 16, 0, 0, 0), HELLO_APART }, "" },
	{ "Data hello", "1.10",
	  "000f00ff 00000015 00000000 00000000 68656c6c6f", FIGURE,
	  { BSDH(SDP_MID_DATA, 0, 15, 0, 0, 5) }, "hello" },
	{ "Data with OOB octet", "1.10",
	  "001003ff 00000011 00000007 00000003 58", FIGURE,
	  { BSDH(SDP_MID_DATA, SDP_FLAG_OOB_PEND | SDP_FLAG_OOB_PRES, 16, 7, 3,
		 1) }, "X" },
	{ "credit update", "1.10",
	  "000c00ff 00000010 00000001 00000009", FIGURE,
	  { BSDH(SDP_MID_DATA, 0, 12, 1, 9, 0) }, "" },
	{ "SrcAvail, Combined", "1.10",
	  "001000fe 00000021 00000002 00000001 00010000 11223344 00007f00"
	  "12345678 41", FIGURE,
	  { BSDH(SDP_MID_SRC_AVAIL, 0, 16, 2, 1, 1),
	    .avail = { 65536, 0x11223344, 0x00007f0012345678, 0 } }, "A" },
	{ "SinkAvail", "1.10",
	  "001000fd 00000024 00000003 00000002 00008000 aabbccdd 00000000"
	  "00000010 00000005", FIGURE,
	  { BSDH(SDP_MID_SINK_AVAIL, 0, 16, 3, 2, 0),
	    .avail = { 32768, 0xaabbccdd, 0x10, 5 } }, "" },
	{ "RdmaRdCompl", "1.10",
	  "00100406 00000014 00000004 00000002 0000ffff", FIGURE,
	  { BSDH(SDP_MID_RDMA_RD_COMPL, SDP_FLAG_REQ_PIPE, 16, 4, 2, 0),
	    .compl_len = 65535 }, "" },
	{ "ModeChange to Pipelined", "1.10",
	  "00100007 00000014 00000005 00000004 00000004", FIGURE,
	  { BSDH(SDP_MID_MODE_CHANGE, 0, 16, 5, 4, 0),
	    .change = { SDP_MODE_PIPELINED, false } }, "" },
	{ "SuspComm", "1.10",
	  "0010000d 00000018 00000006 00000005 00000000 13890001", FIGURE,
	  { BSDH(SDP_MID_SUSP_COMM, 0, 16, 6, 5, 0), .susp_port = 5001 }, "" },
	{ "Hello", "1.10 mirrored",
	  "00000010 00000020 00000000 00000000 11000008 00004000 00004000"
	  "00040004", MIRRORED,
	  { BSDH(SDP_MID_HELLO, 0, 16, 0, 0, 0), HELLO_VALUES }, "" },
	{ "ModeChange to Pipelined", "1.10 mirrored",
	  "07000010 00000014 00000005 00000004 20000000", MIRRORED,
	  { BSDH(SDP_MID_MODE_CHANGE, 0, 16, 5, 4, 0),
	    .change = { SDP_MODE_PIPELINED, false } }, "" },
	{ "SuspComm", "1.10 mirrored",
	  "0d000010 00000018 00000006 00000005 00000000 00011389", MIRRORED,
	  { BSDH(SDP_MID_SUSP_COMM, 0, 16, 6, 5, 0), .susp_port = 5001 }, "" },
	{ "ModeChange to Buffered", "1.7",
	  "00100007 00000014 00000005 00000004 00000000", FIGURE,
	  { BSDH(SDP_MID_MODE_CHANGE, 0, 16, 5, 4, 0),
	    .change = { SDP_MODE_BUFFERED, false } }, "" },
	{ "ModeChange Pipelined to Combined", "1.7",
	  "00100007 00000014 00000005 00000004 00000002", FIGURE,
	  { BSDH(SDP_MID_MODE_CHANGE, 0, 16, 5, 4, 0),
	    .change = { SDP_MODE_COMBINED, false } }, "" },
	{ "ModeChange Buffered to Combined", "1.7",
	  "00100007 00000014 00000005 00000004 00000003", FIGURE,
	  { BSDH(SDP_MID_MODE_CHANGE, 0, 16, 5, 4, 0),
	    .change = { SDP_MODE_COMBINED, true } }, "" },
	{ "ModeChange Buffered to Combined", "1.9",
	  "07000010 00000014 00000005 00000004 90000000", MIRRORED,
	  { BSDH(SDP_MID_MODE_CHANGE, 0, 16, 5, 4, 0),
	    .change = { SDP_MODE_COMBINED, true } }, "" },
	{ "HelloAck, all fields different", "1.9",
	  "01000010 0000001c 00000000 00000000 12000102 0708090a 0d0e0b0c",
	  MIRRORED,
	  { BSDH(SDP_MID_HELLO_ACK, 0, 16, 0, 0, 0),
	    .hello = { .max_adverts = 0x0102, .min_v = 2, .maj_v = 1,
		       .rcv_sz = 0x0708090a, .ird = 0x0b0c, .ord = 0x0d0e } },
	  "" },
	{ "Data with OOB octet", "1.9",
	  "ff030010 00000012 00000007 00000003 5758", MIRRORED,
	  { BSDH(SDP_MID_DATA, SDP_FLAG_OOB_PEND | SDP_FLAG_OOB_PRES, 16, 7, 3,
		 2) }, "WX" },
	{ "DisConn", "1.3", "ffff0002 00000010 ffffffff 80000000", FIGURE,
	  { BSDH(SDP_MID_DISCONN, 0, 0xffff, 0xffffffff, 0x80000000, 0) }, "" },
	{ "AbortConn", "1.3", "00030003 00000010 00000001 00000002", FIGURE,
	  { BSDH(SDP_MID_ABORT_CONN, 0, 3, 1, 2, 0) }, "" },
	{ "SendSm with OOB_PEND", "1.3",
	  "00030204 00000010 00000001 00000002", FIGURE,
	  { BSDH(SDP_MID_SEND_SM, SDP_FLAG_OOB_PEND, 3, 1, 2, 0) }, "" },
	{ "RdmaWrCompl", "1.6",
	  "00030005 00000014 00000001 00000002 80000000", FIGURE,
	  { BSDH(SDP_MID_RDMA_WR_COMPL, 0, 3, 1, 2, 0),
	    .compl_len = 0x80000000 }, "" },
	{ "SrcAvailCancel", "1.3", "00030008 00000010 00000001 00000002",
	  FIGURE, { BSDH(SDP_MID_SRC_AVAIL_CANCEL, 0, 3, 1, 2, 0) }, "" },
	{ "SinkAvailCancel", "1.3", "00030009 00000010 00000001 00000002",
	  FIGURE, { BSDH(SDP_MID_SINK_AVAIL_CANCEL, 0, 3, 1, 2, 0) }, "" },
	{ "SinkCancelAck", "1.3", "0003000a 00000010 00000001 00000002",
	  FIGURE, { BSDH(SDP_MID_SINK_CANCEL_ACK, 0, 3, 1, 2, 0) }, "" },
	{ "ChRcvBuf", "1.7", "0003000b 00000014 00000001 00000002 00010000",
	  FIGURE, { BSDH(SDP_MID_CH_RCV_BUF, 0, 3, 1, 2, 0),
		    .rcv_buf_size = 65536 }, "" },
	{ "ChRcvBufAck", "1.7", "0003000c 00000014 00000001 00000002 00000025",
	  FIGURE, { BSDH(SDP_MID_CH_RCV_BUF_ACK, 0, 3, 1, 2, 0),
		    .rcv_buf_size = 37 }, "" },
	{ "SuspCommAck", "1.3", "0003000e 00000010 00000001 00000002", FIGURE,
	  { BSDH(SDP_MID_SUSP_COMM_ACK, 0, 3, 1, 2, 0) }, "" },
	{ "SinkAvail with payload", "1.6",
	  "001000fd 00000026 00000003 00000002 80000000 00000000 01020304"
	  "05060708 fffffffe 6869", FIGURE,
	  { BSDH(SDP_MID_SINK_AVAIL, 0, 16, 3, 2, 2),
	    .avail = { 0x80000000, 0, 0x0102030405060708, 0xfffffffe } },
	  "hi" },
	{ "SrcAvail, Pipelined, one octet", "1.6",
	  "001000fe 00000020 00000002 00000001 00000001 ffffffff ffffffff"
	  "fffffffe", FIGURE,
	  { BSDH(SDP_MID_SRC_AVAIL, 0, 16, 2, 1, 0),
	    .avail = { 1, 0xffffffff, 0xfffffffffffffffe, 0 } }, "" },
};
/* clang-format on */

#endif
