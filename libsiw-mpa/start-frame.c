/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * MPA start frames: codec and negotiation.
 */
#include "start-frame.h"

#include <errno.h>
#include <string.h>

#include "ddp.h"
#include "wire.h"

/* Octet 16. */
#define START_M 0x80u
#define START_C 0x40u
#define START_R 0x20u
#define START_S 0x10u
/* The two words of the enhanced data (RFC 6581 9). */
#define ENH_HIGH 0x8000u /* A; C */
#define ENH_LOW 0x4000u	 /* B; D */
#define ENH_VALUE 0x3fffu

#define REV_RDMAC 0u
#define REV_ENHANCED 2u

static const char key_request[START_KEY_SIZE + 1] = "MPA ID Req Frame";
static const char key_reply[START_KEY_SIZE + 1] = "MPA ID Rep Frame";

static uint8_t *enhanced_encode(const struct start_frame *f, uint8_t *p)
{
	uint32_t first = f->ird & ENH_VALUE;
	uint32_t second = f->ord & ENH_VALUE;

	if (f->is_peer_to_peer) { /* MPA2-21: else B, C, D are zero */
		first |= ENH_HIGH;
		if (f->rtr & SMPA_RTR_SEND)
			first |= ENH_LOW;
		if (f->rtr & SMPA_RTR_WRITE)
			second |= ENH_HIGH;
		if (f->rtr & SMPA_RTR_READ)
			second |= ENH_LOW;
	}
	p = wire_put16(p, (uint16_t)first);
	return wire_put16(p, (uint16_t)second);
}

static void enhanced_decode(const uint8_t *p, struct start_frame *f)
{
	uint32_t first = wire_get16(p);
	uint32_t second = wire_get16(p + 2);

	f->ird = first & ENH_VALUE;
	f->ord = second & ENH_VALUE;
	f->is_peer_to_peer = first & ENH_HIGH;
	if (!f->is_peer_to_peer)
		return; /* MPA2-21 */
	if (first & ENH_LOW)
		f->rtr |= SMPA_RTR_SEND;
	if (second & ENH_HIGH)
		f->rtr |= SMPA_RTR_WRITE;
	if (second & ENH_LOW)
		f->rtr |= SMPA_RTR_READ;
}

size_t start_frame_encode(const struct start_frame *f, uint8_t *out)
{
	size_t pd_len = f->pd_len;
	uint8_t *p = out;

	memcpy(p, f->is_reply ? key_reply : key_request, START_KEY_SIZE);
	p += START_KEY_SIZE; /* MPA-102, MPA-103 */
	*p++ = (uint8_t)((f->has_markers ? START_M : 0) |
			 (f->has_crc ? START_C : 0) |
			 (f->is_reply && f->is_rejected ? START_R : 0) |
			 (f->is_enhanced ? START_S : 0)); /* MPA-111 */
	*p++ = f->rev;
	if (f->is_enhanced)
		pd_len += SMPA_PD_ENHANCED;  /* MPA2-5 */
	p = wire_put16(p, (uint16_t)pd_len); /* MPA-116 */
	if (f->is_enhanced)
		p = enhanced_encode(f, p);
	if (f->pd_len > 0)
		memcpy(p, f->pd, f->pd_len);
	return (size_t)(p - out) + f->pd_len;
}

size_t start_frame_need(const uint8_t *buf, size_t len)
{
	if (len < START_HDR_SIZE)
		return START_HDR_SIZE;
	return START_HDR_SIZE + wire_get16(buf + 18);
}

int start_frame_decode(const uint8_t *buf, size_t len, bool is_reply,
		       struct start_frame *ret_frame)
{
	const char *key = is_reply ? key_reply : key_request;
	struct start_frame f = { .is_reply = is_reply };

	/* Compare the octets that have arrived, so that a peer with another
	 * protocol is detected at once (MPA-104, MPA-105, C-21). */
	if (memcmp(buf, key, len < START_KEY_SIZE ? len : START_KEY_SIZE) != 0)
		return -EPROTO;
	if (len < START_HDR_SIZE)
		return 0;
	f.has_markers = buf[16] & START_M;
	f.has_crc = buf[16] & START_C;
	f.is_rejected = is_reply && (buf[16] & START_R);
	f.rev = buf[17];
	/* Revision 1 has a reserved bit there (D-20). */
	f.is_enhanced = f.rev == REV_ENHANCED && (buf[16] & START_S);
	f.pd_len = wire_get16(buf + 18);
	if (f.pd_len > SMPA_PD_MAX)
		return -EPROTO; /* MPA-117, without waiting for the data */
	if (f.is_enhanced && f.pd_len < SMPA_PD_ENHANCED)
		return -EPROTO; /* D-19 */
	if (len < START_HDR_SIZE + (size_t)f.pd_len)
		return 0;
	f.pd = buf + START_HDR_SIZE;
	if (f.is_enhanced) {
		enhanced_decode(f.pd, &f);
		f.pd += SMPA_PD_ENHANCED;
		f.pd_len = (uint16_t)(f.pd_len - SMPA_PD_ENHANCED);
	}
	*ret_frame = f;
	return (int)(f.pd - buf) + f.pd_len;
}

void start_request(const struct smpa_options *opt, struct start_frame *ret)
{
	*ret = (struct start_frame){
		.has_markers = opt->want_markers,
		.has_crc = !opt->no_crc, /* MPA-17, MPA-18 */
		.rev = opt->rev,
		.is_enhanced = opt->rev >= REV_ENHANCED, /* MPA2-1 */
		.is_peer_to_peer = opt->rtr != 0,	 /* MPA2-18 */
		.rtr = opt->rtr,			 /* MPA2-19 */
		.ird = opt->ird,
		.ord = opt->ord,
	};
}

static uint16_t min16(uint16_t a, uint16_t b)
{
	return a < b ? a : b;
}

bool start_is_rev_usable(const struct smpa_options *opt, uint8_t rev)
{
	if (rev == REV_RDMAC) /* MPA-183 to -187 */
		return opt->rev0 == SMPA_REV0_PERMISSIVE;
	if (opt->role == SMPA_RESPONDER)
		return rev <= opt->rev;
	return rev <= REV_ENHANCED; /* D-36 */
}

/* The settings for an RDMA Consortium peer, whatever the frames and the options
 * say (MPA-181, -185, -186, C-4). */
static void outcome_set_rdmac(struct start_outcome *o)
{
	o->version = DDP_VERSION_RDMAC;
	o->has_crc = true;
	o->tx_markers = true;
	o->rx_markers = true;
	o->is_enhanced = false;
	o->rtr = 0;
}

void start_bare(const struct smpa_options *opt,
		struct start_outcome *ret_outcome)
{
	*ret_outcome = (struct start_outcome){
		.ird = opt->ird,
		.ord = opt->ord,
	};
	outcome_set_rdmac(ret_outcome);
}

void start_preview(const struct smpa_options *opt,
		   const struct start_frame *request,
		   struct start_outcome *ret_outcome)
{
	*ret_outcome = (struct start_outcome){
		.has_crc = request->has_crc || !opt->no_crc, /* MPA-24 */
		.tx_markers = request->has_markers, /* MPA-38, MPA-39 */
		.rx_markers = opt->want_markers,
		.is_enhanced = request->is_enhanced,
		.version = DDP_VERSION,
		.rtr = request->rtr & opt->rtr,
	};
	if (request->rev == REV_RDMAC)
		outcome_set_rdmac(ret_outcome);
}

void start_reply(const struct smpa_options *opt,
		 const struct start_frame *request, bool is_rejected,
		 uint16_t ird, uint16_t ord, struct start_frame *ret_reply,
		 struct start_outcome *ret_outcome)
{
	struct start_outcome o;
	struct start_frame f = {
		.is_reply = true,
		.is_rejected = is_rejected,
		.rev = request->rev,
		.is_enhanced = request->is_enhanced,	     /* MPA2-8 */
		.is_peer_to_peer = request->is_peer_to_peer, /* MPA2-20 */
		.ird = ird,
		.ord = ord,
	};

	start_preview(opt, request, &o);
	/* The result, not the option: a peer that requires CRCs sees that it
	 * gets them. */
	f.has_crc = o.has_crc;
	f.has_markers = o.rx_markers; /* MPA-185: never 0 to revision 0 */
	o.ird = ird;
	o.ord = ord;
	if (f.is_peer_to_peer) /* MPA2-22, MPA2-23, D-24 */
		f.rtr = o.rtr ? o.rtr : opt->rtr;
	if (!is_rejected && f.is_enhanced) {
		if (request->ord == SMPA_IRD_NONE) { /* MPA2-17 */
			f.ird = SMPA_IRD_NONE;
		} else {
			f.ird = min16(ird, request->ord);
			/* MPA2-13: the Read RTR needs one, although the ULP
			 * does not answer it */
			if ((o.rtr & SMPA_RTR_READ) && f.ird == 0)
				f.ird = 1;
			o.ird = f.ird;
		}
		if (request->ird == SMPA_IRD_NONE) {
			f.ord = SMPA_IRD_NONE;
		} else {
			f.ord = min16(ord, request->ird); /* MPA2-12 */
			o.ord = f.ord;
		}
	}
	*ret_reply = f;
	*ret_outcome = o;
}

uint16_t start_reply_check(const struct smpa_options *opt,
			   const struct start_frame *reply,
			   struct start_outcome *ret_outcome)
{
	bool is_enhanced = opt->rev >= REV_ENHANCED;
	struct start_outcome o = {
		.has_crc = reply->has_crc || !opt->no_crc, /* MPA-24 */
		.tx_markers = reply->has_markers,
		.rx_markers = opt->want_markers,
		.is_enhanced = is_enhanced,
		.version = DDP_VERSION,
		.ird = opt->ird,
		.ord = opt->ord,
	};

	if (!start_is_rev_usable(opt, reply->rev))
		return SMPA_F_MPA_START; /* MPA-114, C-3 */
	if (reply->rev == REV_RDMAC) {
		outcome_set_rdmac(&o);
		*ret_outcome = o;
		return 0;
	}
	/* A rejection may have another revision or no enhanced data.  Its
	 * Private Data is delivered all the same. */
	if (reply->is_rejected)
		o.is_enhanced = reply->is_enhanced;
	else if (reply->is_enhanced != is_enhanced)
		return SMPA_F_MPA_START; /* D-21, D-36 */
	if (!reply->is_rejected && is_enhanced) {
		if (reply->ird != SMPA_IRD_NONE) /* MPA2-15, D-28 */
			o.ord = min16(opt->ord, reply->ird);
		if (reply->ord != SMPA_IRD_NONE && opt->ird != SMPA_IRD_NONE &&
		    reply->ord > opt->ird)
			o.ird = reply->ord; /* MPA2-15 */
		if (opt->ird_max && o.ird > opt->ird_max && o.ird != opt->ird)
			return SMPA_F_MPA_IRD; /* MPA2-16 */
		if (opt->rtr)
			o.rtr = opt->rtr & reply->rtr;
		if (reply->ird == 0) /* D-26: the peer would not answer it */
			o.rtr &= (uint8_t)~SMPA_RTR_READ;
		if (opt->rtr && o.rtr == 0)
			return SMPA_F_MPA_RTR; /* MPA2-25 */
	}
	*ret_outcome = o;
	return 0;
}
