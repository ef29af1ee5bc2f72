/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Framing: one octet of flags and phase, then an FPDU. An accepted FPDU stays
 * within its octets, and its encoding has the same length.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "fpdu.h"

static void check(const uint8_t *data, size_t size, uint32_t phase,
		  bool has_markers, bool has_crc)
{
	uint8_t *buf = malloc(size ? size : 1), *out;
	struct fpdu_writer w;
	struct fpdu f, g;

	fuzz_assert(buf);
	memcpy(buf, data, size);
	if (fpdu_decode_head(buf, size, phase, has_markers, &f) != 1 ||
	    f.wire > size)
		goto out;
	fuzz_assert(f.wire <= FPDU_WIRE_MAX && f.wire % 4 == 0);
	if (has_crc && !fpdu_is_crc_valid(buf, &f))
		goto out;
	if (has_markers && !fpdu_strip_markers(buf, &f, phase))
		goto out;
	out = malloc(f.wire);
	fuzz_assert(out);
	fpdu_writer_begin(&w, out, phase, f.len, has_markers, true);
	fpdu_writer_put(&w, buf + f.lead + 2, f.len);
	fuzz_assert(fpdu_writer_end(&w) == out + f.wire);
	fuzz_assert(fpdu_decode_head(out, f.wire, phase, has_markers, &g) == 1);
	fuzz_assert(g.wire == f.wire && g.len == f.len && g.lead == f.lead);
	fuzz_assert(fpdu_is_crc_valid(out, &g));
	fuzz_assert(!has_markers || fpdu_strip_markers(out, &g, phase));
	fuzz_assert(!memcmp(out + g.lead, buf + f.lead, 2 + f.len));
	free(out);
out:
	free(buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t phase;

	if (size < 1)
		return 0;
	phase = (data[0] & 0x7fu) * 4;
	check(data + 1, size - 1, phase, data[0] & 0x80, false);
	check(data + 1, size - 1, phase, data[0] & 0x80, true);
	return 0;
}
