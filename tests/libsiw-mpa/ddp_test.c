/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * DDP headers, segmentation and order.
 */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "ddp.h"
#include "pair.h"
#include "siw-mpa.h"

/* From and the version 0 figure of the draft. */
static const struct {
	const char *name, *hex;
	struct ddp_hdr h;
} rows[] = {
	{ "tagged, last",
	  "c140010203041122334455667788",
	  { .is_tagged = true,
	    .is_last = true,
	    .version = 1,
	    .ulp = 0x40,
	    .stag = 0x01020304,
	    .to = 0x1122334455667788 } },
	{ "tagged, more",
	  "814201020304fffffffffffffff0",
	  { .is_tagged = true,
	    .version = 1,
	    .ulp = 0x42,
	    .stag = 0x01020304,
	    .to = 0xfffffffffffffff0 } },
	{ "untagged, last",
	  "414401020304000000010000000200000003",
	  { .is_last = true,
	    .version = 1,
	    .ulp = 0x44,
	    .ulp2 = 0x01020304,
	    .qn = 1,
	    .msn = 2,
	    .mo = 3 } },
	{ "untagged, version 0",
	  "000300000000000000000000000100000000",
	  { .ulp = 3, .msn = 1 } },
};

CASE(round_trips)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t want[18], out[18];
		size_t len = test_unhex(rows[i].hex, want, sizeof(want));
		struct ddp_hdr h;

		assert_row(rows[i].name,
			   ddp_hdr_encode(&rows[i].h, out) == len);
		assert_row(rows[i].name, !memcmp(out, want, len));
		assert_row(rows[i].name,
			   ddp_hdr_decode(want, len, &h) == (int)len);
		assert_row(rows[i].name, ddp_hdr_encode(&h, out) == len);
		assert_row(rows[i].name, !memcmp(out, want, len));
		assert_row(rows[i].name,
			   h.is_tagged == rows[i].h.is_tagged &&
				   h.is_last == rows[i].h.is_last &&
				   h.stag == rows[i].h.stag &&
				   h.to == rows[i].h.to &&
				   h.ulp2 == rows[i].h.ulp2 &&
				   h.qn == rows[i].h.qn &&
				   h.msn == rows[i].h.msn &&
				   h.mo == rows[i].h.mo);
		for (size_t cut = 0; cut < len; cut++)
			assert_row(rows[i].name,
				   ddp_hdr_decode(want, cut, &h) == -EMSGSIZE);
	}
}

CASE(ignores_reserved_bits)
{
	uint8_t buf[14] = { 0xfd, 0x40 };
	struct ddp_hdr h;

	assert_int_equal(ddp_hdr_decode(buf, sizeof(buf), &h), 14);
	assert_int_equal(h.version, 1);
}

/* The examples of 1.3: 2048 octets, MULPDU 1500. */
CASE(cuts_segments_of_mulpdu)
{
	assert_int_equal(ddp_segment_len(1500, false, 2048), 1482);
	assert_int_equal(ddp_segment_len(1500, false, 2048 - 1482), 566);
	assert_int_equal(ddp_segment_len(1500, true, 2048), 1486);
	assert_int_equal(ddp_segment_len(1500, true, 2048 - 1486), 562);
	assert_int_equal(ddp_segment_len(1500, true, 0), 0);
}

CASE(requires_order)
{
	struct ddp_order o;
	struct ddp_hdr h = { .version = 1, .msn = 1 };

	ddp_order_init(&o, DDP_VERSION);
	assert_int_equal(ddp_order_check(&o, &h, 100), 0);
	ddp_order_advance(&o, &h, 100);
	assert_int_equal(ddp_order_check(&o, &h, 10), SMPA_F_DDP_U_MO);
	h.mo = 101;
	assert_int_equal(ddp_order_check(&o, &h, 10), SMPA_F_DDP_U_MO);
	h.mo = 100;
	h.msn = 2;
	assert_int_equal(ddp_order_check(&o, &h, 10), SMPA_F_DDP_U_MSN);
	h.msn = 1;
	h.is_last = true;
	assert_int_equal(ddp_order_check(&o, &h, 10), 0);
	ddp_order_advance(&o, &h, 10);
	assert_int_equal(ddp_order_check(&o, &h, 10), SMPA_F_DDP_U_MSN);
	h.msn = 2;
	h.mo = 0;
	assert_int_equal(ddp_order_check(&o, &h, 10), 0);
	h.qn = 3;
	assert_int_equal(ddp_order_check(&o, &h, 10), SMPA_F_DDP_U_MSN);
	h.msn = 1; /* each queue counts separately */
	assert_int_equal(ddp_order_check(&o, &h, 10), 0);
	h.qn = 4;
	assert_int_equal(ddp_order_check(&o, &h, 10), SMPA_F_DDP_U_QN);
}

/* U-3 */
CASE(wraps_msn)
{
	struct ddp_order o;
	struct ddp_hdr h = { .version = 1, .msn = UINT32_MAX, .is_last = true };

	ddp_order_init(&o, DDP_VERSION);
	o.msn[0] = UINT32_MAX;
	assert_int_equal(ddp_order_check(&o, &h, 0), 0);
	ddp_order_advance(&o, &h, 0);
	h.msn = 0;
	assert_int_equal(ddp_order_check(&o, &h, 0), 0);
}

/* DDP-27: no message of 2^32 octets or more. */
CASE(refuses_endless_messages)
{
	struct ddp_order o;
	struct ddp_hdr h = { .version = 1, .msn = 1, .mo = UINT32_MAX - 9 };

	ddp_order_init(&o, DDP_VERSION);
	o.mo[0] = h.mo;
	assert_int_equal(ddp_order_check(&o, &h, 9), 0);
	assert_int_equal(ddp_order_check(&o, &h, 10), SMPA_F_DDP_U_TOO_LONG);
}
