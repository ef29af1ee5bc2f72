/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * MPA Request and Reply frames (RFC 5044 7.1, RFC 6581), and their negotiation,
 * as pure functions.
 */
#ifndef SMPA_START_FRAME_H
#define SMPA_START_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/siw-mpa.h"

#define START_HDR_SIZE 20u
#define START_KEY_SIZE 16u
#define START_FRAME_MAX (START_HDR_SIZE + SMPA_PD_MAX)

struct start_frame {
	bool is_reply;
	bool has_markers;     /* M: the sender wants to receive markers */
	bool has_crc;	      /* C */
	bool is_rejected;     /* R; meaningless in a Request (MPA-109) */
	bool is_enhanced;     /* S, and revision 2: the next fields are valid */
	bool is_peer_to_peer; /* A */
	uint8_t rtr;	      /* B, C, D as enum smpa_rtr */
	uint8_t rev;
	uint16_t ird, ord;
	uint16_t pd_len;   /* without the enhanced data */
	const uint8_t *pd; /* inside the decoded buffer */
};

/* Largest Private Data of the ULP in a frame (MPA2-5). */
static inline size_t start_pd_max(bool is_enhanced)
{
	return is_enhanced ? SMPA_PD_MAX - SMPA_PD_ENHANCED : SMPA_PD_MAX;
}

/* Writes the frame and returns its length, at most START_FRAME_MAX. */
size_t start_frame_encode(const struct start_frame *f, uint8_t *out);

/*
 * Length of the frame, as far as its first @len octets show it.  No more octets
 * than this must be read from the stream (C-2).
 */
size_t start_frame_need(const uint8_t *buf, size_t len);

/*
 * Return: length of the frame; 0: valid so far, but more octets are needed;
 *   -EPROTO: malformed (MPA-143).
 */
int start_frame_decode(const uint8_t *buf, size_t len, bool is_reply,
		       struct start_frame *ret_frame);

/* Makes the Request for @opt. */
void start_request(const struct smpa_options *opt, struct start_frame *ret);

/* The result of the negotiation. */
struct start_outcome {
	bool has_crc;
	bool tx_markers, rx_markers;
	bool is_enhanced;
	uint8_t version;   /* of DDP and RDMAP */
	uint8_t rtr;	   /* kinds that both sides named; 0: client-server */
	uint16_t ird, ord; /* the values to use on this side */
};

/* True if a connection with @opt can use a frame of revision @rev. */
bool start_is_rev_usable(const struct smpa_options *opt, uint8_t rev);

/* The result without start frames, as in the 2002 draft (C-31). */
void start_bare(const struct smpa_options *opt,
		struct start_outcome *ret_outcome);

/* The part of the result that a Responder knows from the Request. */
void start_preview(const struct smpa_options *opt,
		   const struct start_frame *request,
		   struct start_outcome *ret_outcome);

/* Makes the Reply of a Responder that grants @ird and wants @ord. */
void start_reply(const struct smpa_options *opt,
		 const struct start_frame *request, bool is_rejected,
		 uint16_t ird, uint16_t ord, struct start_frame *ret_reply,
		 struct start_outcome *ret_outcome);

/*
 * Checks the Reply to start_request(opt), for the Initiator.
 * Return: 0, or SMPA_F_MPA_START, SMPA_F_MPA_RTR, SMPA_F_MPA_IRD.
 */
uint16_t start_reply_check(const struct smpa_options *opt,
			   const struct start_frame *reply,
			   struct start_outcome *ret_outcome);

#endif
