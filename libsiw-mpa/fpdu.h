/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * MPA framing (RFC 5044): length, pad, CRC, markers, as pure functions.
 *
 * "phase" is the stream offset modulo 512; markers stand where it is 0.
 */
#ifndef SMPA_FPDU_H
#define SMPA_FPDU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FPDU_LEN_SIZE 2u
#define FPDU_CRC_SIZE 4u
#define FPDU_MARKER_SIZE 4u
#define FPDU_MARKER_INTERVAL 512u
/* ULPDU of an FPDU without markers that fills the largest TCP segment, 65495
 * octets: Linux's siw does, over a link of MTU 65536. */
#define FPDU_PLAIN_MAX 65486u
/* Its FPDU; that of 64768 octets, with a leading marker and all inside, is of
 * 65288 (3.2). */
#define FPDU_WIRE_MAX 65492u

/* PAD octets behind a ULPDU of @len (MPA-4). */
static inline uint32_t fpdu_pad(uint32_t len)
{
	return -(len + FPDU_LEN_SIZE) & 3u;
}

/* FPDU of a ULPDU of @len without markers: a multiple of four (MPA-9). */
static inline uint32_t fpdu_size(uint32_t len)
{
	return FPDU_LEN_SIZE + len + fpdu_pad(len) + FPDU_CRC_SIZE;
}

/*
 * Markers inside an FPDU of @size octets (without markers) whose ULPDU_Length
 * stands at @phase, 4 to 508.
 */
uint32_t fpdu_marker_cnt(uint32_t phase, uint32_t size);

/* Stream octets from @phase to the end of the FPDU of a ULPDU of @len, with
 * the marker that may lead and those inside. */
uint32_t fpdu_wire_size(uint32_t phase, uint32_t len, bool has_markers);

/*
 * Lays one FPDU out in contiguous memory, markers where they are due
 * (MPA-45 to MPA-53).  Room: fpdu_wire_size().  The source is read once: what
 * is hashed is what stands in the FPDU, even if the source changes meanwhile.
 */
struct fpdu_writer {
	uint8_t *out;	 /* next octet */
	uint8_t *hashed; /* octets in front of it are in @crc */
	uint8_t *length; /* the ULPDU_Length field */
	uint32_t phase;	 /* of @out */
	uint32_t len;	 /* of the ULPDU */
	uint32_t crc;
	/* Octets copied at once.  A bound that the compiler knew would make it
	 * copy by "rep movs" instead of memcpy(), twice the time of a small
	 * FPDU. */
	size_t piece_max;
	bool has_markers;
	bool has_crc;
};

void fpdu_writer_begin(struct fpdu_writer *w, uint8_t *out, uint32_t phase,
		       uint32_t len, bool has_markers, bool has_crc);
void fpdu_writer_put(struct fpdu_writer *w, const void *buf, size_t len);
/* PAD and CRC (zero when not in use: C-7); returns the end. */
uint8_t *fpdu_writer_end(struct fpdu_writer *w);

/* What is known of an FPDU that stands in a buffer. */
struct fpdu {
	uint32_t lead; /* 4: a marker precedes ULPDU_Length */
	uint32_t len;  /* ULPDU_Length */
	uint32_t wire; /* all octets, leading marker included */
};

/*
 * Reads as far as ULPDU_Length.
 * Return: 1; 0: more octets are needed; -EMSGSIZE: above 64768, without
 * markers FPDU_PLAIN_MAX (C-12).
 */
int fpdu_decode_head(const uint8_t *buf, size_t len, uint32_t phase,
		     bool has_markers, struct fpdu *ret_fpdu);

/* CRC over a whole FPDU (MPA-28, MPA-29); buf[0] is its first octet. */
bool fpdu_is_crc_valid(const uint8_t *buf, const struct fpdu *f);

/*
 * Takes the markers out of a whole FPDU, so that ULPDU_Length, ULPDU, PAD and
 * CRC stand contiguously at buf + f->lead.
 * Return: false: a marker does not point to ULPDU_Length (code 3).
 */
bool fpdu_strip_markers(uint8_t *buf, const struct fpdu *f, uint32_t phase);

#endif
