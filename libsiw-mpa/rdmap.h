/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * RDMAP (RFC 5040) and its extensions (RFC 7306): how each opcode is sent, and
 * the headers that follow the DDP header.
 */
#ifndef SMPA_RDMAP_H
#define SMPA_RDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ddp.h"
#include "include/siw-mpa.h"

#define RDMAP_CTRL_VERSION 0xc0u
#define RDMAP_CTRL_OPCODE 0x0fu

#define RDMAP_READ_SIZE 28u
#define RDMAP_ATOMIC_SIZE 52u
#define RDMAP_ATOMIC_RESPONSE_SIZE 12u
#define RDMAP_IMM_SIZE 8u
#define RDMAP_TERM_MIN_SIZE 4u
#define RDMAP_TERM_MAX_SIZE 52u
/* Longest header: DDP untagged and Atomic Request. */
#define RDMAP_HDR_MAX (DDP_UNTAGGED_SIZE + RDMAP_ATOMIC_SIZE)

enum rdmap_atomic_op {
	RDMAP_FETCH_ADD = 0,
	RDMAP_CMP_SWAP = 2,
};

/* How the messages of one opcode are sent (RFC 5040 4.2, 5.3 of the notes). */
struct rdmap_op {
	bool is_known;
	bool is_tagged;
	bool has_payload; /* from the user, any length */
	bool has_inv_stag;
	uint8_t qn;	  /* untagged */
	uint8_t min_size; /* octets after the DDP header, without */
	uint8_t max_size; /* payload of the user */
	uint8_t hdr_size; /* DDP's header and the longest after it */
};

extern const struct rdmap_op rdmap_ops[RDMAP_CTRL_OPCODE + 1u];

/* Never NULL; @opcode is taken modulo 16. */
static inline const struct rdmap_op *rdmap_op(uint8_t opcode)
{
	return &rdmap_ops[opcode & RDMAP_CTRL_OPCODE];
}

/* Does the opcode ask for a response, which counts against the peer's IRD? */
static inline bool rdmap_is_request(uint8_t opcode)
{
	return opcode == SMPA_OP_READ_REQUEST ||
	       opcode == SMPA_OP_ATOMIC_REQUEST;
}

/* RV equals the stream's DDP version (MPA-178), and reserved bits are zero
 * (RDMAP-6, RDMAP-7). */
static inline uint8_t rdmap_ctrl(uint8_t version, uint8_t opcode)
{
	return (uint8_t)(version << 6 | opcode);
}

static inline uint8_t rdmap_opcode(uint8_t ctrl)
{
	return ctrl & RDMAP_CTRL_OPCODE;
}

/*
 * Checks a segment that passed the checks of DDP: version, opcode, opcode
 * against T and QN, length of fixed headers.  @len: octets after the DDP
 * header. Return: 0, or an enum smpa_fault_value.
 */
uint16_t rdmap_check(const struct ddp_hdr *h, uint32_t len);

struct rdmap_read {
	uint32_t sink_stag;
	uint64_t sink_to;
	uint32_t len;
	uint32_t src_stag;
	uint64_t src_to;
};

/* Return: octets written. */
uint32_t rdmap_read_encode(const struct rdmap_read *r, uint8_t *out);
/* Return: octets used; -EMSGSIZE: it is cut off. */
int rdmap_read_decode(const uint8_t *buf, size_t len, struct rdmap_read *ret);

/*
 * Encodes the header of RDMAP, RFC 7306 or the immediate data that follows
 * DDP's header.
 * Return: octets, as rdmap_op()->max_size; -EINVAL: @msg has none, or it is not
 *   valid.
 */
int rdmap_msg_encode(const struct smpa_msg *msg, uint8_t *out);

/* To ev->atomic, but for its msn, and to ev->atomic_done. */
void rdmap_atomic_decode(const uint8_t *buf, struct smpa_event *ev);
void rdmap_atomic_response_decode(const uint8_t *buf, struct smpa_event *ev);

#endif
