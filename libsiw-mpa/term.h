/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Conversion between faults and TERMINATE messages (RFC 5040 4.8).  Only this
 * file knows their format on the wire.
 */
#ifndef SMPA_TERM_H
#define SMPA_TERM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ddp.h"
#include "include/siw-mpa.h"
#include "rdmap.h"

/* Headers of the segment in error, as they were on the wire. */
struct term_cause {
	uint32_t segment_len; /* ULPDU_Length; 0: no segment is the cause */
	uint8_t ddp_len;      /* 14, 18 */
	bool has_read;
	uint8_t ddp[DDP_UNTAGGED_SIZE];
	uint8_t read[RDMAP_READ_SIZE];
};

/*
 * Writes the TERMINATE header for @fault, with the copies of headers that table
 * 6.4 requires.  With @cause NULL there are none (RDMAP-58).
 * @out: RDMAP_TERM_MAX_SIZE octets.
 * Return: octets written.
 */
uint32_t term_encode(struct smpa_fault fault, const struct term_cause *cause,
		     uint8_t *out);

struct term_info {
	struct smpa_fault fault;
	bool has_ddp, has_read;
	bool is_swapped; /* D-5 */
	struct ddp_hdr ddp;
	struct rdmap_read read;
};

/*
 * Copies of headers that are announced but truncated count as absent, because
 * a TERMINATE is never answered with another one.
 * Return: 0; -EMSGSIZE: shorter than the four fixed octets.
 */
int term_decode(const uint8_t *buf, size_t len, struct term_info *ret_info);

#endif
