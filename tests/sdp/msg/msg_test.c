/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * SDP Messages: the vectors decoded, encoded, cut at every octet, each bit
 * flipped; then messages that a decoder must refuse.
 */
#include "test.h"

#include <string.h>

#include "hex.h"
#include "msg/msg.h"
#include "sdp.h"

#define BUF_SIZE 128

static bool is_hello(uint8_t mid)
{
	return mid == SDP_MID_HELLO || mid == SDP_MID_HELLO_ACK;
}

static bool are_same(const struct sdp_msg *a, const struct sdp_msg *b)
{
	if (a->mid != b->mid || a->flags != b->flags || a->bufs != b->bufs ||
	    a->mseq != b->mseq || a->mseqack != b->mseqack ||
	    a->payload_len != b->payload_len)
		return false;
	if (is_hello(a->mid))
		return a->hello.max_adverts == b->hello.max_adverts &&
		       a->hello.min_v == b->hello.min_v &&
		       a->hello.maj_v == b->hello.maj_v &&
		       a->hello.des_rem_rcv_sz == b->hello.des_rem_rcv_sz &&
		       a->hello.rcv_sz == b->hello.rcv_sz &&
		       a->hello.ird == b->hello.ird &&
		       a->hello.ord == b->hello.ord;
	switch (a->mid) {
	case SDP_MID_SINK_AVAIL:
	case SDP_MID_SRC_AVAIL:
		return a->avail.len == b->avail.len &&
		       a->avail.stag == b->avail.stag &&
		       a->avail.va == b->avail.va &&
		       a->avail.non_discards == b->avail.non_discards;
	case SDP_MID_MODE_CHANGE:
		return a->change.mode == b->change.mode &&
		       a->change.is_send_half == b->change.is_send_half;
	case SDP_MID_RDMA_RD_COMPL:
	case SDP_MID_RDMA_WR_COMPL:
		return a->compl_len == b->compl_len;
	case SDP_MID_CH_RCV_BUF:
	case SDP_MID_CH_RCV_BUF_ACK:
		return a->rcv_buf_size == b->rcv_buf_size;
	case SDP_MID_SUSP_COMM:
		return a->susp_port == b->susp_port;
	default:
		return true;
	}
}

static size_t encode(const struct sdp_msg *msg, enum sdp_layout layout,
		     const void *payload, uint8_t *out)
{
	size_t n = sdp_msg_encode(msg, layout, out);

	memcpy(out + n, payload, msg->payload_len);
	return n + msg->payload_len;
}

/* T1, T4 */
CASE(decodes_vectors)
{
	for (size_t i = 0; i < ARRAY_LEN(sdp_vectors); i++) {
		const struct sdp_vector *v = &sdp_vectors[i];
		uint8_t buf[BUF_SIZE];
		size_t len = test_unhex(v->hex, buf, sizeof(buf));
		struct sdp_msg msg;

		assert_row(v->name,
			   sdp_msg_decode(buf, len, v->layout, &msg) == 0);
		assert_row(v->name, are_same(&msg, &v->msg));
		assert_row(v->name, msg.payload_len == strlen(v->payload));
		assert_row(v->name, !memcmp(buf + sdp_mid_header_size(msg.mid),
					    v->payload, msg.payload_len));
	}
}

CASE(encodes_vectors)
{
	for (size_t i = 0; i < ARRAY_LEN(sdp_vectors); i++) {
		const struct sdp_vector *v = &sdp_vectors[i];
		uint8_t want[BUF_SIZE], out[BUF_SIZE];
		size_t len = test_unhex(v->hex, want, sizeof(want));

		assert_row(v->name,
			   encode(&v->msg, v->layout, v->payload, out) == len);
		assert_row(v->name, !memcmp(out, want, len));
	}
}

CASE(refuses_each_prefix)
{
	for (size_t i = 0; i < ARRAY_LEN(sdp_vectors); i++) {
		const struct sdp_vector *v = &sdp_vectors[i];
		uint8_t buf[BUF_SIZE];
		size_t len = test_unhex(v->hex, buf, sizeof(buf));
		struct sdp_msg msg;

		for (size_t cut = 0; cut < len; cut++) {
			assert_row(v->name,
				   sdp_msg_decode(buf, cut, v->layout, &msg) ==
					   SDP_FAULT_LENGTH);
		}
		buf[len] = 0;
		assert_row(v->name, sdp_msg_decode(buf, len + 1, v->layout,
						   &msg) == SDP_FAULT_LENGTH);
	}
}

/* Clears the bits that a receiver ignores (T3): SDP-7, SDP-26. */
static void clear_reserved(uint8_t *buf, enum sdp_layout layout, uint8_t mid)
{
	bool is_figure = layout == SDP_LAYOUT_FIGURE;

	buf[is_figure ? 2 : 1] &= SDP_FLAGS;
	if (is_hello(mid))
		buf[is_figure ? 18 : 17] = 0;
	if (mid == SDP_MID_MODE_CHANGE && is_figure) {
		memset(buf + 16, 0, 3);
		buf[19] &= 0xf;
	} else if (mid == SDP_MID_MODE_CHANGE) {
		memset(buf + 17, 0, 3);
		buf[16] &= 0xf0;
	}
}

/* A flipped bit is refused, ignored because it is reserved, or visible in the
 * result. */
CASE(sees_each_bit_flip)
{
	size_t seen = 0, refused = 0, ignored = 0;

	for (size_t i = 0; i < ARRAY_LEN(sdp_vectors); i++) {
		const struct sdp_vector *v = &sdp_vectors[i];
		uint8_t buf[BUF_SIZE], out[BUF_SIZE];
		size_t len = test_unhex(v->hex, buf, sizeof(buf));

		for (size_t bit = 0; bit < 8 * len; bit++) {
			struct sdp_msg msg;

			test_unhex(v->hex, buf, sizeof(buf));
			buf[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
			if (sdp_msg_decode(buf, len, v->layout, &msg)) {
				refused++;
				continue;
			}
			clear_reserved(buf, v->layout, msg.mid);
			assert_row(v->name,
				   encode(&msg, v->layout,
					  buf + sdp_mid_header_size(msg.mid),
					  out) == len);
			assert_row(v->name, !memcmp(out, buf, len));
			if (are_same(&msg, &v->msg) &&
			    bit / 8 < sdp_mid_header_size(msg.mid))
				ignored++;
			else
				seen++;
		}
	}
	assert_true(seen > 0 && refused > 0 && ignored > 0);
}

static const struct {
	const char *name;
	const char *hex;
	enum sdp_fault fault;
} refused[] = {
	{ "15 octets", "00100002 00000010 00000000 000000", SDP_FAULT_LENGTH },
	{ "nothing", "", SDP_FAULT_LENGTH },
	{ "Len below the BSDH", "00100002 0000000f 00000000 00000000",
	  SDP_FAULT_LENGTH },
	{ "Len 0", "001000ff 00000000 00000000 00000000", SDP_FAULT_LENGTH },
	{ "Len 2^32-1", "001000ff ffffffff 00000000 00000000",
	  SDP_FAULT_LENGTH },
	{ "Data, Len one more", "001000ff 00000012 00000000 00000000 41",
	  SDP_FAULT_LENGTH },
	{ "Data, Len one less", "001000ff 00000010 00000000 00000000 41",
	  SDP_FAULT_LENGTH },
	{ "DisConn with payload", "00100002 00000011 00000000 00000000 41",
	  SDP_FAULT_LENGTH },
	{ "SendSm with an extended header",
	  "00100004 00000014 00000000 00000000 00000000", SDP_FAULT_LENGTH },
	{ "Hello of 31 octets",
	  "00100000 0000001f 00000000 00000000 00080011 00004000 00004000"
	  "000400",
	  SDP_FAULT_LENGTH },
	{ "Hello of 33 octets",
	  "00100000 00000021 00000000 00000000 00080011 00004000 00004000"
	  "0004000400",
	  SDP_FAULT_LENGTH },
	{ "SrcAvail cut in its header",
	  "001000fe 0000001f 00000000 00000000 00010000 11223344 00000000"
	  "000000",
	  SDP_FAULT_LENGTH },
	{ "MID 0x0f", "0010000f 00000010 00000000 00000000", SDP_FAULT_MID },
	{ "MID 0x10", "00100010 00000010 00000000 00000000", SDP_FAULT_MID },
	{ "MID 0x40", "00100040 00000010 00000000 00000000", SDP_FAULT_MID },
	{ "MID 0x80", "00100080 00000010 00000000 00000000", SDP_FAULT_MID },
	{ "MID 0xfc", "001000fc 00000010 00000000 00000000", SDP_FAULT_MID },
	{ "OOB_PRES on SendSm", "00100104 00000010 00000000 00000000",
	  SDP_FAULT_OOB },
	{ "OOB_PRES on Data without payload",
	  "001001ff 00000010 00000000 00000000", SDP_FAULT_OOB },
	{ "OOB_PRES on SrcAvail",
	  "001001fe 00000021 00000002 00000001 00010000 11223344 00007f00"
	  "12345678 41",
	  SDP_FAULT_OOB },
	{ "SrcAvail of length 0",
	  "001000fe 00000020 00000002 00000001 00000000 11223344 00007f00"
	  "12345678",
	  SDP_FAULT_AVAIL },
	{ "SrcAvail of length 2^31+1",
	  "001000fe 00000020 00000002 00000001 80000001 11223344 00007f00"
	  "12345678",
	  SDP_FAULT_AVAIL },
	{ "SrcAvail with more payload than length",
	  "001000fe 00000022 00000002 00000001 00000001 11223344 00007f00"
	  "12345678 4142",
	  SDP_FAULT_AVAIL },
	{ "SinkAvail of length 0",
	  "001000fd 00000024 00000003 00000002 00000000 aabbccdd 00000000"
	  "00000010 00000005",
	  SDP_FAULT_AVAIL },
	{ "ModeChange to mode 3",
	  "00100007 00000014 00000005 00000004 00000006", SDP_FAULT_MODE },
	{ "ModeChange to mode 7, S",
	  "00100007 00000014 00000005 00000004 0000000f", SDP_FAULT_MODE },
	{ "SuspComm, constant 1 not 0",
	  "0010000d 00000018 00000006 00000005 00000001 13890001",
	  SDP_FAULT_SUSP },
	{ "SuspComm, constant 2 not 1",
	  "0010000d 00000018 00000006 00000005 00000000 13890000",
	  SDP_FAULT_SUSP },
};

CASE(refuses_malformed_messages)
{
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		uint8_t buf[BUF_SIZE];
		size_t len = test_unhex(refused[i].hex, buf, sizeof(buf));
		struct sdp_msg msg = { .mid = 0xaa };

		assert_row(refused[i].name,
			   sdp_msg_decode(buf, len, SDP_LAYOUT_FIGURE, &msg) ==
				   refused[i].fault);
		assert_row(refused[i].name, msg.mid == 0xaa);
	}
}

/* SDP-5 */
CASE(accepts_every_mid_and_no_other)
{
	unsigned int known = 0;

	for (unsigned int mid = 0; mid < 256; mid++) {
		bool is_known = mid <= 0x0e || mid >= 0xfd;
		size_t size = sdp_mid_header_size((uint8_t)mid);

		assert_int_equal(size != 0, is_known);
		assert_int_equal(sdp_mid_may_have_payload((uint8_t)mid),
				 mid >= 0xfd);
		known += is_known;
	}
	assert_int_equal(known, 18);
}

/* T2: the minimum and maximum of each field are encoded and decoded correctly,
 * while all other fields have the opposite value. Advertised lengths and modes
 * have their own ranges. */
static const struct {
	const char *name;
	uint8_t mid;
	size_t off, size; /* in struct sdp_msg */
	uint32_t min, max;
} fields[] = {
/* clang-format off */
#define FIELD(mid, member, min, max)                                           \
	{                                                                      \
#mid " " #member, SDP_MID_##mid,                               \
			offsetof(struct sdp_msg, member),                      \
			sizeof(((struct sdp_msg *)0)->member), min, max        \
	}
	/* clang-format on */
	FIELD(DATA, bufs, 0, 0xffff),
	FIELD(DATA, flags, 0, 6), /* OOB_PRES needs payload */
	FIELD(DATA, mseq, 0, 0xffffffff),
	FIELD(DATA, mseqack, 0, 0xffffffff),
	FIELD(HELLO, hello.max_adverts, 0, 0xffff),
	FIELD(HELLO, hello.min_v, 0, 15),
	FIELD(HELLO, hello.maj_v, 0, 15),
	FIELD(HELLO, hello.des_rem_rcv_sz, 0, 0xffffffff),
	FIELD(HELLO, hello.rcv_sz, 0, 0xffffffff),
	FIELD(HELLO, hello.ird, 0, 0xffff),
	FIELD(HELLO, hello.ord, 0, 0xffff),
	FIELD(HELLO_ACK, hello.max_adverts, 0, 0xffff),
	FIELD(HELLO_ACK, hello.min_v, 0, 15),
	FIELD(HELLO_ACK, hello.maj_v, 0, 15),
	FIELD(HELLO_ACK, hello.rcv_sz, 0, 0xffffffff),
	FIELD(HELLO_ACK, hello.ird, 0, 0xffff),
	FIELD(HELLO_ACK, hello.ord, 0, 0xffff),
	FIELD(SRC_AVAIL, avail.len, 1, SDP_LEN_MAX),
	FIELD(SRC_AVAIL, avail.stag, 0, 0xffffffff),
	FIELD(SRC_AVAIL, avail.va, 0, 0xffffffff),
	FIELD(SINK_AVAIL, avail.len, 1, SDP_LEN_MAX),
	FIELD(SINK_AVAIL, avail.stag, 0, 0xffffffff),
	FIELD(SINK_AVAIL, avail.va, 0, 0xffffffff),
	FIELD(SINK_AVAIL, avail.non_discards, 0, 0xffffffff),
	FIELD(RDMA_WR_COMPL, compl_len, 0, 0xffffffff),
	FIELD(RDMA_RD_COMPL, compl_len, 0, 0xffffffff),
	FIELD(MODE_CHANGE, change.mode, 0, 2),
	FIELD(MODE_CHANGE, change.is_send_half, 0, 1),
	FIELD(CH_RCV_BUF, rcv_buf_size, 0, 0xffffffff),
	FIELD(CH_RCV_BUF_ACK, rcv_buf_size, 0, 0xffffffff),
	FIELD(SUSP_COMM, susp_port, 0, 0xffff),
#undef FIELD
};

static void set_field(struct sdp_msg *msg, size_t i, bool is_max)
{
	uint32_t value32 = is_max ? fields[i].max : fields[i].min;
	uint64_t value64 = is_max ? UINT64_MAX : 0; /* an address */
	uint16_t value16 = (uint16_t)value32;
	uint8_t value8 = (uint8_t)value32;
	const void *values[] = {
		[1] = &value8, [2] = &value16, [4] = &value32, [8] = &value64
	};

	memcpy((uint8_t *)msg + fields[i].off, values[fields[i].size],
	       fields[i].size);
}

CASE(carries_the_ends_of_every_field)
{
	for (size_t i = 0; i < 4 * ARRAY_LEN(fields); i++) {
		enum sdp_layout layout = i & 1 ? SDP_LAYOUT_MIRRORED
					       : SDP_LAYOUT_FIGURE;
		struct sdp_msg msg = { .mid = fields[i / 4].mid }, got;
		uint8_t buf[SDP_HEADER_MAX];
		size_t n;

		for (size_t other = 0; other < ARRAY_LEN(fields); other++) {
			/* Fields of the BSDH are in every message. */
			if (other < 4 || fields[other].mid == msg.mid)
				set_field(&msg, other, i & 2);
		}
		set_field(&msg, i / 4, !(i & 2));
		n = sdp_msg_encode(&msg, layout, buf);
		assert_row(fields[i / 4].name,
			   sdp_msg_decode(buf, n, layout, &got) ==
				   SDP_FAULT_NONE);
		assert_row(fields[i / 4].name, are_same(&msg, &got));
	}
}

/* Part 5: private data may be padded with zeros only. */
CASE(takes_padded_start_messages)
{
	uint8_t buf[256] = { 0 };
	struct sdp_msg msg;

	assert_int_equal(test_unhex(sdp_vectors[0].hex, buf, sizeof(buf)), 32);
	assert_int_equal(
		sdp_msg_decode_padded(buf, 32, SDP_LAYOUT_FIGURE, &msg), 0);
	assert_true(are_same(&msg, &sdp_vectors[0].msg));
	assert_int_equal(
		sdp_msg_decode_padded(buf, 196, SDP_LAYOUT_FIGURE, &msg), 0);
	assert_int_equal(
		sdp_msg_decode_padded(buf, 31, SDP_LAYOUT_FIGURE, &msg),
		SDP_FAULT_LENGTH);
	buf[195] = 1;
	assert_int_equal(
		sdp_msg_decode_padded(buf, 196, SDP_LAYOUT_FIGURE, &msg),
		SDP_FAULT_LENGTH);
}

/* T108 */
CASE(says_which_messages_are_solicited)
{
	static const uint8_t solicited[] = {
		SDP_MID_HELLO_ACK,	   SDP_MID_ABORT_CONN,
		SDP_MID_SUSP_COMM,	   SDP_MID_SUSP_COMM_ACK,
		SDP_MID_SEND_SM,	   SDP_MID_SRC_AVAIL_CANCEL,
		SDP_MID_SINK_AVAIL_CANCEL, SDP_MID_RDMA_WR_COMPL,
		SDP_MID_RDMA_RD_COMPL,	   SDP_MID_SINK_CANCEL_ACK,
	};

	for (unsigned int mid = 0; mid < 255; mid++)
		assert_int_equal(
			sdp_msg_is_solicited((uint8_t)mid, 0xff),
			memchr(solicited, (int)mid, sizeof(solicited)) != NULL);
	assert_false(sdp_msg_is_solicited(SDP_MID_DATA, SDP_FLAG_REQ_PIPE));
	assert_true(sdp_msg_is_solicited(SDP_MID_DATA, SDP_FLAG_OOB_PEND));
	assert_true(sdp_msg_is_solicited(SDP_MID_DATA, SDP_FLAG_OOB_PRES));
}
