/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * MPA Request and Reply frames: V-16 to V-21 and of doc/spec/,
 * computed from RFC 5044 7.1.1 and RFC 6581 9.
 */
#ifndef TEST_VECTORS_FRAMES_H
#define TEST_VECTORS_FRAMES_H

#include "start-frame.h"

#define KEY_REQUEST "4d504120494420526571204672616d65"
#define KEY_REPLY "4d504120494420526570204672616d65"

struct frame_vector {
	const char *name;
	const char *hex;
	struct start_frame f; /* without pd */
	const char *pd;
	bool is_canonical; /* an encoder must produce exactly this */
};

static const struct frame_vector frame_vectors[] = {
	{ "V-16",
	  KEY_REQUEST "40010000",
	  { .has_crc = true, .rev = 1 },
	  "",
	  true },
	{ "V-17",
	  KEY_REPLY "40010000",
	  { .is_reply = true, .has_crc = true, .rev = 1 },
	  "",
	  true },
	{ "V-18",
	  KEY_REQUEST "c001000568656c6c6f",
	  { .has_markers = true, .has_crc = true, .rev = 1 },
	  "68656c6c6f",
	  true },
	{ "V-19",
	  KEY_REPLY "600100026e6f",
	  { .is_reply = true, .has_crc = true, .is_rejected = true, .rev = 1 },
	  "6e6f",
	  true },
	{ "V-20",
	  KEY_REQUEST "c0000000",
	  { .has_markers = true, .has_crc = true },
	  "",
	  true },
	{ "V-21",
	  KEY_REPLY "c0000000",
	  { .is_reply = true, .has_markers = true, .has_crc = true },
	  "",
	  true },
	{ "X-21",
	  KEY_REQUEST "500200048008c008",
	  { .has_crc = true,
	    .rev = 2,
	    .is_enhanced = true,
	    .is_peer_to_peer = true,
	    .rtr = SMPA_RTR_WRITE | SMPA_RTR_READ,
	    .ird = 8,
	    .ord = 8 },
	  "",
	  true },
	{ "X-22",
	  KEY_REPLY "5002000480088008",
	  { .is_reply = true,
	    .has_crc = true,
	    .rev = 2,
	    .is_enhanced = true,
	    .is_peer_to_peer = true,
	    .rtr = SMPA_RTR_WRITE,
	    .ird = 8,
	    .ord = 8 },
	  "",
	  true },
	{ "X-23",
	  KEY_REPLY "700200048004c020",
	  { .is_reply = true,
	    .has_crc = true,
	    .is_rejected = true,
	    .rev = 2,
	    .is_enhanced = true,
	    .is_peer_to_peer = true,
	    .rtr = SMPA_RTR_WRITE | SMPA_RTR_READ,
	    .ird = 4,
	    .ord = 32 },
	  "",
	  true },
	{ "X-24",
	  KEY_REQUEST "500200043fff3fff",
	  { .has_crc = true,
	    .rev = 2,
	    .is_enhanced = true,
	    .ird = 0x3fff,
	    .ord = 0x3fff },
	  "",
	  true },
	{ "all RTR kinds and Private Data",
	  KEY_REQUEST "50020006c008c0104142",
	  { .has_crc = true,
	    .rev = 2,
	    .is_enhanced = true,
	    .is_peer_to_peer = true,
	    .rtr = SMPA_RTR_SEND | SMPA_RTR_WRITE | SMPA_RTR_READ,
	    .ird = 8,
	    .ord = 16 },
	  "4142",
	  true },
	/* Decoded as if the bits were clear. */
	{ "reserved bits and R in a Request",
	  KEY_REQUEST "6f010000",
	  { .has_crc = true, .rev = 1 },
	  "",
	  false },
	{ "S in revision 1 (D-20)",
	  KEY_REQUEST "5001000161",
	  { .has_crc = true, .rev = 1 },
	  "61",
	  false },
	{ "B, C, D without A (MPA2-21)",
	  KEY_REQUEST "500200044001c002",
	  { .has_crc = true,
	    .rev = 2,
	    .is_enhanced = true,
	    .ird = 1,
	    .ord = 2 },
	  "",
	  false },
	{ "revision 2 without S (D-18)",
	  KEY_REQUEST "4002000161",
	  { .has_crc = true, .rev = 2 },
	  "61",
	  true },
};

/* Invalid, whatever follows. */
static const struct {
	const char *name;
	bool is_reply;
	const char *hex;
} frame_malformed[] = {
	{ "PD_Length 513", false, KEY_REQUEST "40010201" },
	{ "PD_Length 65535", false, KEY_REQUEST "4001ffff" },
	{ "S with PD_Length 3 (D-19)", false, KEY_REQUEST "50020003" },
	{ "S with PD_Length 0", true, KEY_REPLY "50020000" },
	{ "a Request where a Reply is due", true, KEY_REQUEST "40010000" },
	{ "a Reply where a Request is due", false, KEY_REPLY "40010000" },
	{ "lower-case f", false, "4d504120494420526571206672616d65" },
	{ "another protocol", false, "474554202f20485454502f312e300d0a" },
	{ "RDMA Consortium stream", false, "00000000" },
};

#endif
