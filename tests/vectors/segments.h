/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * FPDUs with DDP and RDMAP contents: of doc/spec/ddp-rdmap.md,
 * computed from RFC 5040, 5041 and 7306, with CRC, without markers.
 */
#ifndef TEST_VECTORS_SEGMENTS_H
#define TEST_VECTORS_SEGMENTS_H

#include "siw-mpa.h"

struct segment_vector {
	const char *name;
	const char *hex;
	struct smpa_msg msg; /* its submission gives hex; not for TERMINATE */
	const char *payload;
	/* What the receiver sees. If there is payload, or the message is
	 * untagged on QN 0, SEGMENT comes first, then this. */
	enum smpa_event_type type;
	uint32_t msn;	    /* untagged */
	const char *before; /* FPDU that must come first; NULL: none */
	uint16_t fault;	    /* TERMINATE */
};

#define X_18                                                                   \
	"0046414a000000000000000100000001000000000000000011223344"             \
	"01020304000000000000100000000000000000050000000000000000"             \
	"0000000000000000ffffffffffffffff43e4ba17"

static const struct segment_vector segment_vectors[] = {
	{ .name = "X-1 Write",
	  .hex = "0016c1400102030411223344556677884142434445464748"
		 "19e1e495",
	  .msg = { .opcode = SMPA_OP_WRITE,
		   .stag = 0x01020304,
		   .to = 0x1122334455667788 },
	  .payload = "4142434445464748",
	  .type = SMPA_EV_MESSAGE },
	{ .name = "X-2 Read Request",
	  .hex = "002e4141000000000000000100000001000000000102030400000000"
		 "00001000000010000a0b0c0d00000000000020000efe523d",
	  .msg = { .opcode = SMPA_OP_READ_REQUEST,
		   .read = { .sink_stag = 0x01020304,
			     .sink_to = 0x1000,
			     .len = 4096,
			     .src_stag = 0x0a0b0c0d,
			     .src_to = 0x2000 } },
	  .type = SMPA_EV_READ,
	  .msn = 1 },
	{ .name = "X-3 Read Response",
	  .hex = "001ec142010203040000000000001000000102030405060708090a0b"
		 "0c0d0e0f499ac02b",
	  .msg = { .opcode = SMPA_OP_READ_RESPONSE,
		   .stag = 0x01020304,
		   .to = 0x1000 },
	  .payload = "000102030405060708090a0b0c0d0e0f",
	  .type = SMPA_EV_MESSAGE },
	{ .name = "X-4 Send",
	  .hex = "002a414300000000000000000000000100000000000000000000000000"
		 "000000000000000000000000000000b7243ec3",
	  .msg = { .opcode = SMPA_OP_SEND },
	  .payload = "000000000000000000000000000000000000000000000000",
	  .type = SMPA_EV_MESSAGE,
	  .msn = 1 },
	{ .name = "X-5 Send with Invalidate",
	  .hex = "001641440102030400000000000000010000000070696e67542055af",
	  .msg = { .opcode = SMPA_OP_SEND_INV, .stag = 0x01020304 },
	  .payload = "70696e67",
	  .type = SMPA_EV_MESSAGE,
	  .msn = 1 },
	{ .name = "X-6 Send with SE",
	  .hex = "001641450000000000000000000000010000000070696e67cb444289",
	  .msg = { .opcode = SMPA_OP_SEND_SE },
	  .payload = "70696e67",
	  .type = SMPA_EV_MESSAGE,
	  .msn = 1 },
	{ .name = "X-7 Send with SE and Invalidate",
	  .hex = "001641460102030400000000000000010000000070696e678edb41b5",
	  .msg = { .opcode = SMPA_OP_SEND_SE_INV, .stag = 0x01020304 },
	  .payload = "70696e67",
	  .type = SMPA_EV_MESSAGE,
	  .msn = 1 },
	{ .name = "X-8 Terminate, CRC error",
	  .hex = "0016414700000000000000020000000100000000200200007fe42585",
	  .msg = { .opcode = SMPA_OP_TERMINATE },
	  .type = SMPA_EV_TERMINATE,
	  .msn = 1,
	  .fault = 0x2002 },
	{ .name = "X-9 Terminate, no RTR",
	  .hex = "0016414700000000000000020000000100000000200700001bd2babe",
	  .msg = { .opcode = SMPA_OP_TERMINATE },
	  .type = SMPA_EV_TERMINATE,
	  .msn = 1,
	  .fault = 0x2007 },
	{ .name = "X-10 Terminate, DDP invalid STag",
	  .hex = "00264147000000000000000200000001000000001100c0000016c140"
		 "deadbeef000000000000000025b2d588",
	  .msg = { .opcode = SMPA_OP_TERMINATE },
	  .type = SMPA_EV_TERMINATE,
	  .msn = 1,
	  .fault = 0x1100 },
	{ .name = "X-11 Terminate, RDMAP invalid STag",
	  .hex = "00464147000000000000000200000001000000000100e000002e4141"
		 "00000000000000010000000100000000010203040000000000001000"
		 "00001000deadbeef0000000000002000ee37f57e",
	  .msg = { .opcode = SMPA_OP_TERMINATE },
	  .type = SMPA_EV_TERMINATE,
	  .msn = 1,
	  .fault = 0x0100 },
	{ .name = "X-12 RTR Write",
	  .hex = "000ec140000000010000000000000000ebd34c5f",
	  .msg = { .opcode = SMPA_OP_WRITE, .stag = 1 },
	  .type = SMPA_EV_MESSAGE },
	{ .name = "X-13 RTR Read Request",
	  .hex = "002e4141000000000000000100000001000000000000000100000000"
		 "00000000000000000000000100000000000000"
		 "0027dbd7e7",
	  .msg = { .opcode = SMPA_OP_READ_REQUEST,
		   .read = { .sink_stag = 1, .src_stag = 1 } },
	  .type = SMPA_EV_READ,
	  .msn = 1 },
	{ .name = "X-14 answer to X-13",
	  .hex = "000ec14200000001000000000000000021a3e83e",
	  .msg = { .opcode = SMPA_OP_READ_RESPONSE, .stag = 1 },
	  .type = SMPA_EV_MESSAGE },
	{ .name = "X-15 RTR Send",
	  .hex = "0012414300000000000000000000000100000000587be8c4",
	  .msg = { .opcode = SMPA_OP_SEND },
	  .type = SMPA_EV_MESSAGE,
	  .msn = 1 },
	{ .name = "X-16 Immediate Data",
	  .hex = "001a4148000000000000000000000001000000000102030405060708"
		 "06c22805",
	  .msg = { .opcode = SMPA_OP_IMM, .imm = { 1, 2, 3, 4, 5, 6, 7, 8 } },
	  .type = SMPA_EV_MESSAGE,
	  .msn = 1 },
	{ .name = "X-17 Immediate Data with SE",
	  .hex = "001a4149000000000000000000000001000000000102030405060708"
		 "9b091c2b",
	  .msg = { .opcode = SMPA_OP_IMM_SE,
		   .imm = { 1, 2, 3, 4, 5, 6, 7, 8 } },
	  .type = SMPA_EV_MESSAGE,
	  .msn = 1 },
	{ .name = "X-18 FetchAdd",
	  .hex = X_18,
	  .msg = { .opcode = SMPA_OP_ATOMIC_REQUEST,
		   .atomic = { .op = 0,
			       .id = 0x11223344,
			       .stag = 0x01020304,
			       .to = 0x1000,
			       .add_swap = 5,
			       .compare_mask = UINT64_MAX } },
	  .type = SMPA_EV_ATOMIC,
	  .msn = 1 },
	{ .name = "X-19 CmpSwap",
	  .hex = "0046414a000000000000000100000002000000000000000211223345"
		 "0102030400000000000010000000000000000007ffffffffffffffff"
		 "0000000000000005ffffffffffffffff3f741636",
	  .msg = { .opcode = SMPA_OP_ATOMIC_REQUEST,
		   .atomic = { .op = 2,
			       .id = 0x11223345,
			       .stag = 0x01020304,
			       .to = 0x1000,
			       .add_swap = 7,
			       .add_swap_mask = UINT64_MAX,
			       .compare = 5,
			       .compare_mask = UINT64_MAX } },
	  .type = SMPA_EV_ATOMIC,
	  .msn = 2,
	  .before = X_18 },
	{ .name = "X-20 Atomic Response",
	  .hex = "001e414b000000000000000300000001000000001122334400000000"
		 "000000258408d31e",
	  .msg = { .opcode = SMPA_OP_ATOMIC_RESPONSE,
		   .atomic = { .id = 0x11223344, .value = 37 } },
	  .type = SMPA_EV_ATOMIC_DONE,
	  .msn = 1 },
};

#endif
