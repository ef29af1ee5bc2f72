/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * MPA framing: the vectors in four ways, the closed formulas, MULPDU.
 */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "fpdu.h"
#include "framing.h"
#include "pair.h"
#include "siw-mpa.h"
#include "wire.h"

/* Everything that a receiver does with one FPDU in a buffer; -EAGAIN: too
 * short. */
static int decode(uint8_t *buf, size_t len, uint32_t phase, bool has_markers,
		  bool has_crc, struct fpdu *f)
{
	int ret = fpdu_decode_head(buf, len, phase, has_markers, f);

	if (ret < 0)
		return FRAMING_MARKER;
	if (ret == 0 || len < f->wire)
		return -EAGAIN;
	if (has_crc && !fpdu_is_crc_valid(buf, f))
		return FRAMING_CRC;
	if (has_markers && !fpdu_strip_markers(buf, f, phase))
		return FRAMING_MARKER;
	return FRAMING_OK;
}

static size_t encode(uint8_t *out, const uint8_t *ulpdu, uint32_t len,
		     uint32_t phase, bool has_markers, bool has_crc)
{
	struct fpdu_writer w;

	fpdu_writer_begin(&w, out, phase, len, has_markers, has_crc);
	fpdu_writer_put(&w, ulpdu, len);
	return (size_t)(fpdu_writer_end(&w) - out);
}

/* T-3, T-21 to T-25 at the level of the codec */
CASE(decodes_vectors)
{
	for (size_t i = 0; i < ARRAY_LEN(framing_vectors); i++) {
		const struct framing_vector *v = &framing_vectors[i];
		uint8_t buf[128], ulpdu[128];
		size_t len = test_unhex(v->hex, buf, sizeof(buf));
		size_t ulen = test_unhex(v->ulpdu, ulpdu, sizeof(ulpdu));
		struct fpdu f;

		assert_row(v->name, decode(buf, len, v->phase, v->has_markers,
					   v->has_crc, &f) == (int)v->result);
		assert_row(v->name, f.wire == len && f.len == ulen);
		if (v->result == FRAMING_OK)
			assert_row(v->name,
				   !memcmp(buf + f.lead + 2, ulpdu, ulen));
	}
}

/* T-2 */
CASE(encodes_vectors)
{
	for (size_t i = 0; i < ARRAY_LEN(framing_vectors); i++) {
		const struct framing_vector *v = &framing_vectors[i];
		uint8_t want[128], ulpdu[128], out[128];
		size_t len = test_unhex(v->hex, want, sizeof(want));
		size_t ulen = test_unhex(v->ulpdu, ulpdu, sizeof(ulpdu));

		if (!v->is_canonical)
			continue;
		assert_row(v->name, encode(out, ulpdu, (uint32_t)ulen, v->phase,
					   v->has_markers, v->has_crc) == len);
		assert_row(v->name, !memcmp(out, want, len));
	}
}

CASE(needs_more_after_each_prefix)
{
	for (size_t i = 0; i < ARRAY_LEN(framing_vectors); i++) {
		const struct framing_vector *v = &framing_vectors[i];
		uint8_t buf[128];
		size_t len = test_unhex(v->hex, buf, sizeof(buf));
		struct fpdu f;

		for (size_t cut = 0; cut < len; cut++)
			assert_row(v->name,
				   decode(buf, cut, v->phase, v->has_markers,
					  v->has_crc, &f) == -EAGAIN);
	}
}

/* T-20: never accepted. Zeros follow, so the claimed length is always there. */
CASE(refuses_each_bit_flip)
{
	static uint8_t buf[128 + 70000];

	for (size_t i = 0; i < ARRAY_LEN(framing_vectors); i++) {
		const struct framing_vector *v = &framing_vectors[i];
		size_t len = test_unhex(v->hex, buf, 128);
		struct fpdu f;

		if (!v->has_crc || v->result != FRAMING_OK)
			continue;
		for (size_t bit = 0; bit < 8 * len; bit++) {
			memset(buf, 0, sizeof(buf));
			test_unhex(v->hex, buf, 128);
			buf[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
			assert_row(v->name, decode(buf, sizeof(buf), v->phase,
						   v->has_markers, true,
						   &f) != FRAMING_OK);
		}
	}
}

CASE(writes_three_markers)
{
	static uint8_t zero[FRAMING_V12_LEN], out[FRAMING_V12_SIZE];
	uint8_t crc[4];

	assert_int_equal(encode(out, zero, FRAMING_V12_LEN, 0, true, true),
			 FRAMING_V12_SIZE);
	assert_int_equal(wire_get32(out), 0);
	assert_int_equal(wire_get16(out + 4), FRAMING_V12_LEN);
	assert_int_equal(wire_get32(out + 512), 0x1fc);
	assert_int_equal(wire_get32(out + 1024), 0x3fc);
	test_unhex(FRAMING_V12_CRC, crc, sizeof(crc));
	assert_memory_equal(out + FRAMING_V12_SIZE - 4, crc, 4);
}

/* T-4 */
CASE(pads_to_four)
{
	static const uint32_t pad[] = { 2, 1, 0, 3 };

	for (uint32_t len = 0; len <= SMPA_MULPDU_MAX; len++) {
		assert_int_equal(fpdu_pad(len), pad[len % 4]);
		assert_int_equal(fpdu_size(len) % 4, 0);
	}
}

/* T-5, against a simple encoder that works octet by octet. */
CASE(places_markers_as_the_closed_form_says)
{
	static uint8_t ulpdu[1100], out[2048];

	test_fill(ulpdu, sizeof(ulpdu), 5);
	for (uint32_t phase = 0; phase < 512; phase += 4) {
		for (uint32_t len = 1; len <= sizeof(ulpdu); len++) {
			uint32_t lead = phase == 0 ? 4 : 0;
			size_t size =
				encode(out, ulpdu, len, phase, true, false);
			size_t got = 0, wrong = 0;

			assert_int_equal(size,
					 fpdu_wire_size(phase, len, true));
			for (size_t i = lead; i < size - 4; i++) {
				if ((phase + i) % 512 == 0) {
					wrong += wire_get32(out + i) !=
						 i - lead;
					i += 3;
					continue;
				}
				if (got >= 2 && got < len + 2)
					wrong += out[i] != ulpdu[got - 2];
				got++;
			}
			assert_int_equal(got, 2 + len + fpdu_pad(len));
			assert_int_equal(wrong, 0);
		}
	}
}

CASE(strips_what_it_wrote)
{
	static uint8_t ulpdu[SMPA_MULPDU_MAX], out[FPDU_WIRE_MAX];
	static const uint32_t lens[] = { 1,    14,   500,
					 504,  508,  512,
					 1442, 9000, SMPA_MULPDU_MAX };
	struct fpdu f;

	test_fill(ulpdu, sizeof(ulpdu), 6);
	for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
		for (uint32_t phase = 0; phase < 512; phase += 4) {
			size_t size = encode(out, ulpdu, lens[i], phase, true,
					     phase % 8 == 0);

			assert_true(size <= FPDU_WIRE_MAX);
			assert_int_equal(decode(out, size, phase, true,
						phase % 8 == 0, &f),
					 FRAMING_OK);
			assert_memory_equal(out + f.lead + 2, ulpdu, lens[i]);
		}
	}
}

/* T-10, T-31 */
CASE(refuses_too_long_a_ulpdu)
{
	uint8_t buf[2];
	struct fpdu f;

	wire_put16(buf, SMPA_MULPDU_MAX);
	assert_int_equal(fpdu_decode_head(buf, 2, 4, true, &f), 1);
	wire_put16(buf, SMPA_MULPDU_MAX + 1);
	assert_int_equal(fpdu_decode_head(buf, 2, 4, true, &f), -EMSGSIZE);
	wire_put16(buf, FPDU_PLAIN_MAX);
	assert_int_equal(fpdu_decode_head(buf, 2, 4, false, &f), 1);
	assert_int_equal(f.wire, FPDU_WIRE_MAX);
	wire_put16(buf, FPDU_PLAIN_MAX + 1);
	assert_int_equal(fpdu_decode_head(buf, 2, 4, false, &f), -EMSGSIZE);
}

/* T-7 */
CASE(knows_mulpdu)
{
	static const uint32_t rows[][3] = {
		{ 1460, 1442, 1454 },	 { 1448, 1430, 1442 },
		{ 1440, 1422, 1434 },	 { 1428, 1410, 1422 },
		{ 1461, 1442, 1454 },	 { 1462, 1442, 1454 },
		{ 1463, 1442, 1454 },	 { 536, 522, 530 },
		{ 512, 502, 506 },	 { 8960, 8882, 8954 },
		{ 8948, 8870, 8942 },	 { 65483, 64766, 64766 },
		{ 140, 130, 134 },	 { 138, 128, 130 },
		{ 100, 128, 128 },	 { 0, 128, 128 },
		{ 65288, 64766, 64766 }, { UINT32_MAX, 64766, 64766 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(smpa_mulpdu(rows[i][0], true), rows[i][1]);
		assert_int_equal(smpa_mulpdu(rows[i][0], false), rows[i][2]);
	}
	for (uint32_t emss = 140; emss <= 65535; emss++) {
		uint32_t m = smpa_mulpdu(emss, true);
		uint32_t plain = smpa_mulpdu(emss, false);

		assert_true(fpdu_size(plain) <= emss);
		/* A full FPDU has no padding. */
		assert_int_equal(fpdu_pad(plain), 0);
		assert_int_equal(m == SMPA_MULPDU_MIN ? 0 : fpdu_pad(m), 0);
		assert_true(fpdu_wire_size(0, m, true) <= emss);
		assert_true(fpdu_wire_size(4, m, true) <= emss);
		assert_true(fpdu_wire_size(508, m, true) <= emss);
	}
}
