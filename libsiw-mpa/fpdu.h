/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * MPA framing (RFC 5044): length, pad, CRC, markers, as pure functions.
 *
 * "phase" is the stream offset modulo 512; markers are at phase 0.
 */
#ifndef SMPA_FPDU_H
#define SMPA_FPDU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FPDU_LEN_SIZE 2u
#define FPDU_CRC_SIZE 4u
#define FPDU_MARKER_SIZE 4u
#define FPDU_MARKER_INTERVAL 512u
/* The longest ULPDU of an FPDU without markers.  Its FPDU fills the largest TCP
 * segment, 65495 octets.  Linux's siw sends such FPDUs over a link of MTU
 * 65536. */
#define FPDU_PLAIN_MAX 65486u
/* The longest FPDU, that of FPDU_PLAIN_MAX.  The FPDU of 64768 octets with all
 * its markers has 65288 octets (3.2). */
#define FPDU_WIRE_MAX 65492u

/* Number of PAD octets after a ULPDU of @len (MPA-4). */
static inline uint32_t fpdu_pad(uint32_t len)
{
	return -(len + FPDU_LEN_SIZE) & 3u;
}

/* Size of the FPDU for a ULPDU of @len without markers: a multiple of four
 * (MPA-9). */
static inline uint32_t fpdu_size(uint32_t len)
{
	return FPDU_LEN_SIZE + len + fpdu_pad(len) + FPDU_CRC_SIZE;
}

/*
 * Number of markers inside an FPDU of @size octets (without markers) with its
 * ULPDU_Length at @phase, 4 to 508.
 */
uint32_t fpdu_marker_cnt(uint32_t phase, uint32_t size);

/* Stream octets from @phase to the end of the FPDU for a ULPDU of @len,
 * including a leading marker and the markers inside. */
uint32_t fpdu_wire_size(uint32_t phase, uint32_t len, bool has_markers);

/*
 * Writes one FPDU with its markers to contiguous memory of fpdu_wire_size()
 * octets (MPA-45 to MPA-53).  The source is read once.  The CRC therefore
 * matches the octets of the FPDU, even if the source changes meanwhile.
 */
struct fpdu_writer {
	uint8_t *out;	 /* next octet */
	uint8_t *hashed; /* the octets before it are in @crc */
	uint8_t *length; /* the ULPDU_Length field */
	/* So many octets need no marker, and no look at the hash. */
	size_t plain_left;
	uint32_t phase; /* of @out, with markers */
	uint32_t len;	/* of the ULPDU */
	uint32_t crc;
	/* Octets copied at once.  If this were a constant, the compiler would
	 * copy by "rep movs" instead of memcpy(), which doubles the time of a
	 * small FPDU. */
	size_t piece_max;
	bool has_markers;
	bool has_crc;
};

void fpdu_writer_begin(struct fpdu_writer *w, uint8_t *out, uint32_t phase,
		       uint32_t len, bool has_markers, bool has_crc);
/* The rest of fpdu_writer_put(). */
void fpdu_writer_put_pieces(struct fpdu_writer *w, const void *buf, size_t len);

/* Most pieces of short FPDUs are a copy and nothing else. */
static inline void fpdu_writer_put(struct fpdu_writer *w, const void *buf,
				   size_t len)
{
	if (len > w->plain_left) {
		fpdu_writer_put_pieces(w, buf, len);
	} else if (len > 0) {
		memcpy(w->out, buf, len);
		w->out += len;
		w->plain_left -= len;
	}
}

/* Writes PAD and CRC (zero when CRCs are not used: C-7); returns the end. */
uint8_t *fpdu_writer_end(struct fpdu_writer *w);

/* An FPDU in a buffer. */
struct fpdu {
	uint32_t lead; /* 4: a marker precedes ULPDU_Length */
	uint32_t len;  /* ULPDU_Length */
	uint32_t wire; /* all octets, leading marker included */
};

/*
 * Decodes ULPDU_Length.
 * Return: 1; 0: more octets are needed; -EMSGSIZE: above 64768, or above
 * FPDU_PLAIN_MAX without markers (C-12).
 */
int fpdu_decode_head(const uint8_t *buf, size_t len, uint32_t phase,
		     bool has_markers, struct fpdu *ret_fpdu);

/* Checks the CRC of a whole FPDU (MPA-28, MPA-29); buf[0] is its first
 * octet. */
bool fpdu_is_crc_valid(const uint8_t *buf, const struct fpdu *f);

/*
 * Removes the markers from a whole FPDU, so that ULPDU_Length, ULPDU, PAD and
 * CRC are contiguous at buf + f->lead.
 * Return: false: a marker does not point to ULPDU_Length (code 3).
 */
bool fpdu_strip_markers(uint8_t *buf, const struct fpdu *f, uint32_t phase);

#endif
