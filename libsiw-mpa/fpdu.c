/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * MPA framing: positions of markers, coverage of the CRC, length of FPDUs.
 */
#include "fpdu.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "crc32c.h"
#include "include/siw-mpa.h"
#include "wire.h"

#define MARKER_MASK (FPDU_MARKER_INTERVAL - 1u)
/* The two low bits of FPDUPTR are taken as zero (MPA-44). */
#define FPDUPTR_MASK 0xfffcu
/* The copied octets are hashed one piece at a time, while the first-level cache
 * still has them. */
#define HASH_PIECE 4096u

uint32_t fpdu_marker_cnt(uint32_t phase, uint32_t size)
{
	uint32_t first = FPDU_MARKER_INTERVAL - (phase & MARKER_MASK);

	if (size <= first)
		return 0;
	return 1 +
	       (size - first - 1) / (FPDU_MARKER_INTERVAL - FPDU_MARKER_SIZE);
}

uint32_t fpdu_wire_size(uint32_t phase, uint32_t len, bool has_markers)
{
	uint32_t size = fpdu_size(len);
	uint32_t lead = 0;

	if (!has_markers)
		return size;
	if ((phase & MARKER_MASK) == 0)
		lead = FPDU_MARKER_SIZE; /* MPA-50: it belongs to this one */
	return lead + size +
	       FPDU_MARKER_SIZE * fpdu_marker_cnt(phase + lead, size);
}

static void writer_marker(struct fpdu_writer *w, uint32_t fpduptr)
{
	/* MPA-40, MPA-41, MPA-48, MPA-49 */
	w->out = wire_put32(w->out, fpduptr);
	w->phase = FPDU_MARKER_SIZE;
}

/* Number of octets before the next marker.  Writes a marker that is due now. */
static size_t writer_room(struct fpdu_writer *w)
{
	if (!w->has_markers)
		return SIZE_MAX;
	if (w->phase == 0)
		writer_marker(w, (uint32_t)(w->out - w->length));
	return FPDU_MARKER_INTERVAL - w->phase;
}

/* Hashes the octets of the FPDU that have not been hashed. */
static void writer_hash(struct fpdu_writer *w)
{
	w->crc = crc32c_update(w->crc, w->hashed, (size_t)(w->out - w->hashed));
	w->hashed = w->out;
}

static size_t plain_max(const struct fpdu_writer *w)
{
	if (w->has_markers)
		return 0;
	return w->has_crc ? HASH_PIECE - (size_t)(w->out - w->hashed)
			  : SIZE_MAX;
}

void fpdu_writer_put_pieces(struct fpdu_writer *w, const void *buf, size_t len)
{
	const uint8_t *p = buf;

	while (len > 0) {
		size_t room = writer_room(w);
		size_t piece = len < room ? len : room;

		if (piece > w->piece_max)
			piece = w->piece_max;
		memcpy(w->out, p, piece);
		w->out += piece;
		w->phase = (w->phase + (uint32_t)piece) & MARKER_MASK;
		p += piece;
		len -= piece;
		if (w->has_crc && (size_t)(w->out - w->hashed) >= HASH_PIECE)
			writer_hash(w);
	}
	w->plain_left = plain_max(w);
}

void fpdu_writer_begin(struct fpdu_writer *w, uint8_t *out, uint32_t phase,
		       uint32_t len, bool has_markers, bool has_crc)
{
	uint8_t head[FPDU_LEN_SIZE];

	w->out = out;
	w->hashed = out;
	w->crc = CRC32C_INIT;
	w->has_crc = has_crc;
	w->piece_max = has_crc ? HASH_PIECE : SIZE_MAX;
	w->phase = phase & MARKER_MASK;
	w->len = len;
	w->has_markers = has_markers;
	if (has_markers && w->phase == 0)
		writer_marker(w, 0); /* MPA-46, MPA-51 */
	w->plain_left = plain_max(w);
	w->length = w->out;
	wire_put16(head, (uint16_t)len);
	fpdu_writer_put(w, head, sizeof(head));
}

uint8_t *fpdu_writer_end(struct fpdu_writer *w)
{
	static const uint8_t zero[4];
	uint32_t crc = 0;

	fpdu_writer_put(w, zero, fpdu_pad(w->len)); /* MPA-5 */
	writer_room(w); /* a marker between PAD and CRC is covered (MPA-28) */
	if (w->has_crc) {
		writer_hash(w);
		crc = crc32c_final(w->crc);
	}
	w->out = wire_put_crc(w->out, crc); /* MPA-30 */
	w->phase = (w->phase + FPDU_CRC_SIZE) & MARKER_MASK;
	return w->out;
}

int fpdu_decode_head(const uint8_t *buf, size_t len, uint32_t phase,
		     bool has_markers, struct fpdu *ret_fpdu)
{
	uint32_t lead = 0;
	uint32_t ulpdu;

	if (has_markers && (phase & MARKER_MASK) == 0)
		lead = FPDU_MARKER_SIZE;
	if (len < lead + FPDU_LEN_SIZE)
		return 0;
	ulpdu = wire_get16(buf + lead);
	if (ulpdu > (has_markers ? SMPA_MULPDU_MAX : FPDU_PLAIN_MAX))
		return -EMSGSIZE;
	ret_fpdu->lead = lead;
	ret_fpdu->len = ulpdu;
	ret_fpdu->wire = fpdu_wire_size(phase, ulpdu, has_markers);
	return 1;
}

bool fpdu_is_crc_valid(const uint8_t *buf, const struct fpdu *f)
{
	size_t covered = f->wire - FPDU_CRC_SIZE;
	uint32_t state = crc32c_update(CRC32C_INIT, buf, covered);

	return crc32c_final(state) == wire_get_crc(buf + covered);
}

bool fpdu_strip_markers(uint8_t *buf, const struct fpdu *f, uint32_t phase)
{
	uint32_t at = FPDU_MARKER_INTERVAL - ((phase + f->lead) & MARKER_MASK) +
		      f->lead;
	uint8_t *to = buf + at;

	if (f->lead && (wire_get16(buf + 2) & FPDUPTR_MASK) != 0)
		return false; /* C-10 */
	for (; at < f->wire; at += FPDU_MARKER_INTERVAL) {
		const uint8_t *marker = buf + at;
		uint32_t rest = f->wire - at - FPDU_MARKER_SIZE;
		uint32_t piece = FPDU_MARKER_INTERVAL - FPDU_MARKER_SIZE;

		if ((wire_get16(marker + 2) & FPDUPTR_MASK) != at - f->lead)
			return false; /* MPA-160 */
		if (piece > rest)
			piece = rest;
		memmove(to, marker + FPDU_MARKER_SIZE, piece);
		to += piece;
	}
	return true;
}

uint32_t smpa_mulpdu(uint32_t emss, bool has_markers)
{
	uint32_t off = 6 + emss % 4; /* MPA-64 */
	uint32_t mulpdu;

	if (has_markers) /* MPA-63 */
		off += 4 * (emss / 512 + (emss % 512 != 0));
	if (emss < SMPA_MULPDU_MIN || emss - SMPA_MULPDU_MIN < off)
		return SMPA_MULPDU_MIN; /* MPA-68 */
	mulpdu = emss - off;
	/* MPA-58; without padding, like the others */
	return mulpdu > SMPA_MULPDU_MAX ? SMPA_MULPDU_MAX - 2 : mulpdu;
}
