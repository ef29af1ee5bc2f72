/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * TERMINATE: which copies belong to which fault, and how a receiver decodes it.
 */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "pair.h"
#include "term.h"

#define HDR_WRITE "c140deadbeef0000000000000000"
#define HDR_SEND "414300000000000000000000000100000000"
#define HDR_READ "414100000000000000010000000100000000"
#define READ "01020304000000000000100000001000deadbeef0000000000002000"

/* Table 6.4. */
static const struct {
	const char *name;
	uint16_t fault;
	const char *ddp, *read; /* the segment in error; NULL: none */
	uint32_t segment_len;
	const char *hex;
} rows[] = {
	{ "X-8", 0x2002, NULL, NULL, 0, "20020000" },
	{ "X-9", 0x2007, HDR_SEND, NULL, 22, "20070000" },
	{ "X-10", 0x1100, HDR_WRITE, NULL, 22, "1100c0000016" HDR_WRITE },
	{ "X-11", 0x0100, HDR_READ, READ, 46, "0100e000002e" HDR_READ READ },
	{ "DDP fault of a Read Request", 0x1202, HDR_READ, READ, 46,
	  "1202c000002e" HDR_READ },
	{ "remote operation, Read Request", 0x0207, HDR_READ, READ, 46,
	  "0207c000002e" HDR_READ },
	{ "D-2: protection, Send with Invalidate", 0x0109, HDR_SEND, NULL, 22,
	  "0109c0000016" HDR_SEND },
	{ "local", 0x0000, HDR_SEND, NULL, 22, "00000000" },
	{ "DDP local", 0x1000, HDR_SEND, NULL, 22, "1000c0000016" HDR_SEND },
	{ "no segment in error", 0x0102, NULL, NULL, 0, "01020000" },
};

CASE(encodes_the_table)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct term_cause cause = { 0 };
		uint8_t want[52], out[RDMAP_TERM_MAX_SIZE];
		size_t len = test_unhex(rows[i].hex, want, sizeof(want));

		cause.segment_len = rows[i].segment_len;
		if (rows[i].ddp)
			cause.ddp_len = (uint8_t)test_unhex(
				rows[i].ddp, cause.ddp, sizeof(cause.ddp));
		if (rows[i].read) {
			test_unhex(rows[i].read, cause.read,
				   sizeof(cause.read));
			cause.has_read = true;
		}
		assert_row(rows[i].name,
			   term_encode((struct smpa_fault){ rows[i].fault },
				       rows[i].ddp ? &cause : NULL,
				       out) == len);
		assert_row(rows[i].name, !memcmp(out, want, len));
	}
}

CASE(decodes_the_table)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t buf[52];
		size_t len = test_unhex(rows[i].hex, buf, sizeof(buf));
		struct term_info t;

		assert_row(rows[i].name, term_decode(buf, len, &t) == 0);
		assert_row(rows[i].name, t.fault.value == rows[i].fault);
		assert_row(rows[i].name, t.has_ddp == (len > 4));
		assert_row(rows[i].name, !t.is_swapped);
		assert_row(rows[i].name, t.has_read == (len == 52));
		if (rows[i].ddp && len > 4)
			assert_row(rows[i].name,
				   t.ddp.is_tagged == (rows[i].ddp[0] == 'c'));
	}
}

/* Announced copies that are truncated count as absent. There is no other
 * effect. */
CASE(takes_what_is_there_of_each_prefix)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t buf[52];
		size_t len = test_unhex(rows[i].hex, buf, sizeof(buf));
		struct term_info t;

		for (size_t cut = 0; cut < len; cut++) {
			if (cut < 4) {
				assert_row(rows[i].name,
					   term_decode(buf, cut, &t) ==
						   -EMSGSIZE);
				continue;
			}
			assert_row(rows[i].name,
				   term_decode(buf, cut, &t) == 0);
			assert_row(rows[i].name, !t.has_read);
			assert_row(rows[i].name, t.has_ddp <= (cut >= 6 + 14));
		}
	}
}

/* U-18, D-5: the swapped bit order of a little-endian siw is not
 * interpreted. */
CASE(reads_swapped_nibbles_as_they_stand)
{
	uint8_t buf[38];
	size_t len = test_unhex("120603000008" HDR_SEND, buf, sizeof(buf));
	struct term_info t;

	assert_int_equal(term_decode(buf, len, &t), 0);
	assert_int_equal(t.fault.value, 0x1206);
	assert_false(t.has_ddp);
	assert_true(t.is_swapped);
	/* Without flags: no RFC defines 0202, a CRC error is 2002. */
	len = test_unhex("02020000", buf, sizeof(buf));
	assert_int_equal(term_decode(buf, len, &t), 0);
	assert_true(t.is_swapped);
}

/* U-18: cxgb4 sends type 3 where RFC 6581 requires 0: it has no name and is no
 * fault. */
CASE(takes_the_terminates_of_cxgb4)
{
	for (uint8_t code = 6; code <= 7; code++) {
		uint8_t buf[] = { 0x23, code, 0, 0 };
		struct term_info t;

		assert_int_equal(term_decode(buf, sizeof(buf), &t), 0);
		assert_int_equal(t.fault.value, 0x2300 | code);
		assert_string_equal(smpa_fault_str(t.fault), "unknown error");
	}
}

CASE(names_each_fault)
{
	static const uint16_t known[] = {
		0x0000, 0x0100, 0x0101, 0x0102, 0x0103, 0x0104, 0x0109,
		0x01ff, 0x0205, 0x0206, 0x0207, 0x0208, 0x0209, 0x02ff,
		0x1000, 0x1100, 0x1101, 0x1102, 0x1103, 0x1104, 0x1201,
		0x1202, 0x1203, 0x1204, 0x1205, 0x1206, 0x2001, 0x2002,
		0x2003, 0x2004, 0x2005, 0x2006, 0x2007,
	};
	const char *unknown = smpa_fault_str(SMPA_FAULT(15, 15, 255));

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		struct smpa_fault fault = { known[i] };

		assert_string_not_equal(smpa_fault_str(fault), unknown);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(
				smpa_fault_str(fault),
				smpa_fault_str(
					(struct smpa_fault){ known[j] }));
	}
	for (uint32_t v = 0; v <= UINT16_MAX; v++)
		assert_non_null(
			smpa_fault_str((struct smpa_fault){ (uint16_t)v }));
}
