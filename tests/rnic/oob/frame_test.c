/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Private data of a connection out of band: encoding, decoding, and invalid
 * frames. */
#include <errno.h>
#include <string.h>

#include "../../harness/test.h"
#include "oob/frame.h"

static const struct oob_frame sample = {
	.min_rnr_timer = 12,
	.rnr_retry = 7,
	.src_num = 0xabcdef,
	.dst_num = 0x123456,
	.nonce = UINT64_C(0x0102030405060708),
};

static const uint8_t octets[OOB_FRAME_LEN] = {
	'u', 's',  'R',	 'V',  1, 12, 7, 0, 0, 0xab, 0xcd, 0xef,
	0,   0x12, 0x34, 0x56, 1, 2,  3, 4, 5, 6,    7,	   8,
};

CASE(octets_are_as_documented)
{
	uint8_t buf[OOB_FRAME_LEN];
	struct oob_frame frame;

	oob_frame_encode(&sample, buf);
	assert_memory_equal(buf, octets, sizeof(octets));
	assert_int_equal(oob_frame_decode(octets, sizeof(octets), &frame), 0);
	assert_int_equal(frame.min_rnr_timer, 12);
	assert_int_equal(frame.rnr_retry, 7);
	assert_int_equal(frame.src_num, 0xabcdef);
	assert_int_equal(frame.dst_num, 0x123456);
	assert_int_equal(frame.type, RNIC_QPT_RC);
	assert_true(frame.nonce == sample.nonce);
}

/* In the octet that was zero before there were types. */
CASE(a_type_is_in_the_last_octet_of_the_head)
{
	struct oob_frame uc = sample, frame;
	uint8_t buf[OOB_FRAME_LEN];

	uc.type = RNIC_QPT_UC;
	oob_frame_encode(&uc, buf);
	assert_int_equal(buf[7], 1);
	assert_int_equal(oob_frame_decode(buf, sizeof(buf), &frame), 0);
	assert_int_equal(frame.type, RNIC_QPT_UC);
	buf[7] = 0;
	assert_memory_equal(buf, octets, sizeof(octets));
}

CASE(others_are_refused)
{
	static const struct {
		size_t at;
		uint8_t value;
		int answer;
	} rows[] = {
		{ 0, 'U', -EPROTO },   { 3, 0, -EPROTO },
		{ 4, 0, -EPROTO },     { 4, 2, -EPROTO },
		{ 5, 31, 0 },	       { 5, 32, -EPROTO },
		{ 6, 8, -EPROTO },     { 6, OOB_RNR_RETRY_UNKNOWN, 0 },
		{ 7, 0xff, 0 },	       { 8, 1, -EPROTO },
		{ 12, 0xff, -EPROTO },
	};
	struct oob_frame frame;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t buf[OOB_FRAME_LEN];

		memcpy(buf, octets, sizeof(buf));
		buf[rows[i].at] = rows[i].value;
		assert_int_equal(oob_frame_decode(buf, sizeof(buf), &frame),
				 rows[i].answer);
	}
	for (size_t len = 0; len < OOB_FRAME_LEN; len++)
		assert_int_equal(oob_frame_decode(octets, len, &frame),
				 -EPROTO);
	assert_int_equal(oob_frame_decode(NULL, 0, &frame), -EPROTO);
}
