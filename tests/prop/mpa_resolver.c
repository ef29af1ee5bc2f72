/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * T-74: with usiw's markers a receiver of TCP segments can find FPDUs out of
 * order. There is no such receiver above sockets. Here it is a pure function,
 * written from 5.3 of doc/spec/mpa.md. It checks the sender: every FPDU is
 * passed once, Delivery is in order, nothing is lost.
 */
#include "test.h"

#include <string.h>

#include "crc32c.h"
#include "pair.h"
#include "wire.h"

#define STREAM_MAX 200000u
#define FPDU_CNT 80u
#define SEGMENT_MAX 1460u

struct resolver {
	uint32_t seq_start;
	uint8_t octets[STREAM_MAX];
	bool is_present[STREAM_MAX];
	bool is_valid[STREAM_MAX];  /* inside a validated FPDU: does not change
				       any more */
	bool is_passed[STREAM_MAX]; /* an FPDU whose length field is here */
	uint32_t end_of[STREAM_MAX];
	uint32_t next; /* delivered up to here */
	size_t passed_cnt, delivered_cnt;
	uint16_t fault;
};

static bool has_octets(const struct resolver *r, uint32_t from, uint32_t to)
{
	if (to > STREAM_MAX || from > to)
		return false;
	for (uint32_t i = from; i < to; i++)
		if (!r->is_present[i])
			return false;
	return true;
}

/* Step 5: the FPDU with its ULPDU_Length at @at. Return: its end; 0: unknown
 * yet, or not an FPDU. */
static uint32_t fpdu_try(struct resolver *r, uint32_t at)
{
	uint32_t lead = at % 512 == 4 ? 4 : 0, len, n, d0, wire, crc;

	if (at < lead || !has_octets(r, at - lead, at + 2))
		return 0;
	if (r->is_passed[at])
		return r->end_of[at];
	len = wire_get16(r->octets + at);
	n = 2 + len + (-(len + 2) & 3) + 4;
	d0 = 512 - at % 512;
	wire = n + 4 * (n <= d0 ? 0 : 1 + (n - d0 - 1) / 508);
	if (len > 64768 || !has_octets(r, at, at + wire))
		return 0;
	crc = crc32c_final(crc32c_update_table(
		CRC32C_INIT, r->octets + at - lead, lead + wire - 4));
	if (crc != wire_get_crc(r->octets + at + wire - 4))
		return 0; /* step 7: not an FPDU */
	for (uint32_t m = at + d0; m < at + wire; m += 512)
		if ((wire_get16(r->octets + m + 2) & 0xfffc) != m - at)
			r->fault = 3;
	r->is_passed[at] = true;
	r->end_of[at] = at + wire;
	r->passed_cnt++;
	for (uint32_t i = at - lead; i < at + wire; i++)
		r->is_valid[i] = true;
	return at + wire;
}

/* Step 6: that FPDU and those after it. */
static void fpdu_chain(struct resolver *r, uint32_t at)
{
	uint32_t end;

	while ((end = fpdu_try(r, at)) != 0)
		at = end % 512 == 0 ? end + 4 : end;
}

/* Steps 2 to 4: the marker at @m. */
static void marker_follow(struct resolver *r, uint32_t m)
{
	uint32_t ptr;

	if (!has_octets(r, m, m + 4))
		return;
	ptr = wire_get16(r->octets + m + 2) & 0xfffc;
	if (ptr <= m)
		fpdu_chain(r, ptr ? m - ptr : m + 4);
}

/* Step 9. */
static void deliver(struct resolver *r)
{
	for (;;) {
		uint32_t at = r->next % 512 == 0 ? r->next + 4 : r->next;

		fpdu_chain(r, at);
		if (at >= STREAM_MAX || !r->is_passed[at])
			return;
		r->next = r->end_of[at];
		r->delivered_cnt++;
	}
}

static void segment(struct resolver *r, uint32_t seq, const uint8_t *octets,
		    uint32_t len)
{
	uint32_t from = seq - r->seq_start; /* modulo 2^32: MPA-55 */

	assert_true(from + len <= STREAM_MAX);
	for (uint32_t i = 0; i < len; i++) {
		if (r->is_valid[from + i])
			continue; /* step 8 */
		r->octets[from + i] = octets[i];
		r->is_present[from + i] = true;
	}
	/* The segment may begin or end inside a marker. */
	for (uint32_t m = from / 512 * 512; m < from + len; m += 512)
		marker_follow(r, m);
	deliver(r);
}

/* ---- the stream ---- */

static uint8_t stream[STREAM_MAX];

/* FPDU_CNT FPDUs of all sizes, as a connection sends them. */
static uint32_t stream_make(uint64_t seed)
{
	static uint8_t data[5000];
	struct smpa_options o = test_options(SMPA_INITIATOR);
	struct end e;
	uint32_t len;

	o.rev = 1;
	o.mulpdu = 5014;
	end_init(&e, &o);
	end_establish(&e, "4d504120494420526570204672616d65c0010000");
	test_fill(data, sizeof(data), seed);
	for (uint32_t i = 0; i < FPDU_CNT; i++) {
		uint32_t most = i % 3 ? 300 : 5000;
		struct iovec v = { data, test_random(&seed) % most };
		struct smpa_msg msg = { .opcode = SMPA_OP_WRITE,
					.iov = &v,
					.iovcnt = 1,
					.len = (uint32_t)v.iov_len };

		assert_int_equal(end_submit(&e, &msg), 0);
		end_drain(&e);
	}
	len = (uint32_t)e.out_end;
	assert_true(len <= STREAM_MAX);
	memcpy(stream, e.out, len);
	end_fini(&e);
	return len;
}

struct piece {
	uint32_t at, len;
};

static void shuffle(struct piece *p, size_t cnt, uint64_t *seed)
{
	for (size_t i = cnt; i > 1; i--) {
		size_t k = test_random(seed) % i;
		struct piece t = p[i - 1];

		p[i - 1] = p[k];
		p[k] = t;
	}
}

static void run(uint64_t seed, uint32_t seq_start, struct resolver *r)
{
	static struct piece pieces[2 * STREAM_MAX];
	static uint8_t lie[SEGMENT_MAX];
	uint32_t len = stream_make(seed), at = 0;
	size_t cnt = 0, early = 0;

	memset(r, 0, sizeof(*r));
	r->seq_start = seq_start;
	while (at < len) {
		uint32_t most = seed % 4 ? SEGMENT_MAX : 40;
		uint32_t piece = 1 + (uint32_t)(test_random(&seed) % most);

		if (piece > len - at)
			piece = len - at;
		pieces[cnt++] = (struct piece){ at, piece };
		/* a second time, cut differently */
		if (test_random(&seed) % 4 == 0)
			pieces[cnt++] = (struct piece){ at, piece / 2 };
		at += piece;
	}
	shuffle(pieces, cnt, &seed);
	for (size_t i = 0; i < cnt; i++) {
		segment(r, seq_start + pieces[i].at, stream + pieces[i].at,
			pieces[i].len);
		assert_true(r->delivered_cnt <= r->passed_cnt);
		if (r->delivered_cnt < r->passed_cnt)
			early = r->passed_cnt;
		/* validated octets stay, whatever replaces them in the
		 * segment */
		if (i % 8 == 0 &&
		    has_octets(r, pieces[i].at, pieces[i].at + pieces[i].len) &&
		    r->is_valid[pieces[i].at] &&
		    r->is_valid[pieces[i].at + pieces[i].len - 1] &&
		    pieces[i].len < 4)
			segment(r, seq_start + pieces[i].at, lie,
				pieces[i].len);
	}
	assert_int_equal(r->fault, 0);
	assert_int_equal(r->passed_cnt, FPDU_CNT);
	assert_int_equal(r->delivered_cnt, FPDU_CNT);
	assert_int_equal(r->next, len);
	assert_true(early > 0); /* markers found some out of order */
}

static struct resolver resolver;

CASE(finds_every_fpdu_of_a_shuffled_stream)
{
	static const uint32_t starts[] = { 0, 11, 0xffffff00u, 0xfffe0001u };

	for (uint64_t seed = 1; seed <= 24; seed++)
		run(seed, starts[seed % ARRAY_LEN(starts)], &resolver);
}

/* The first segment comes last: everything else is passed before it, nothing is
 * Delivered before it. */
CASE(passes_beyond_a_gap_but_delivers_nothing)
{
	struct resolver *r = &resolver;
	uint32_t len = stream_make(99);
	size_t before;

	memset(r, 0, sizeof(*r));
	for (uint32_t at = 100; at < len; at += 1000)
		segment(r, at, stream + at, len - at < 1000 ? len - at : 1000);
	before = r->passed_cnt;
	assert_true(before > FPDU_CNT / 2);
	assert_int_equal(r->delivered_cnt, 0);
	segment(r, 0, stream, 100);
	assert_int_equal(r->passed_cnt, FPDU_CNT);
	assert_int_equal(r->delivered_cnt, FPDU_CNT);
}

/* MPA-161: a marker with a wrong position under a valid CRC is code 3. */
CASE(detects_a_wrong_marker)
{
	struct resolver *r = &resolver;
	uint32_t len = 0, at = 4, end;

	do { /* one with a marker inside */
		len = stream_make(7 + len);
		memset(r, 0, sizeof(*r));
		segment(r, 0, stream, len);
		for (at = 4; r->end_of[at] - at < 1024;
		     at = end % 512 ? end : end + 4)
			end = r->end_of[at];
	} while (r->end_of[at] == 0);
	end = r->end_of[at];
	stream[at / 512 * 512 + 512 + 3] ^= 4;
	wire_put_crc(stream + end - 4,
		     crc32c_final(crc32c_update_table(
			     CRC32C_INIT, stream + at - (at % 512 == 4 ? 4 : 0),
			     end - 4 - at + (at % 512 == 4 ? 4 : 0))));
	memset(r, 0, sizeof(*r));
	segment(r, 0, stream, len);
	assert_int_equal(r->fault, 3);
}
