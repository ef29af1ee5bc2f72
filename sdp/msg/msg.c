/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Encoding and decoding of SDP Messages, in both layouts of the figures (C1).
 */
#include "msg/msg.h"

#include <assert.h>
#include <string.h>

#include "octets.h"

/* SuspCH's constants (SDP-246). */
#define SUSP_CONST1 0x00000000u
#define SUSP_CONST2 0x0001u

/* The flag S of MCH: in the last octet in the layout of the figure, in the
 * first octet in the mirrored layout. */
#define MCH_FIGURE_S 0x01u
#define MCH_FIGURE_MODE_SHIFT 1
#define MCH_MIRRORED_S 0x80u
#define MCH_MIRRORED_MODE_SHIFT 4
#define MCH_MODE 0x07u

/* Table 1.3 (SDP-5, SDP-25). */
struct mid_row {
	uint8_t header; /* octets including the BSDH; 0: no valid MID */
	bool may_have_payload;
	bool is_solicited;
};

static const struct mid_row low_mids[] = {
	[SDP_MID_HELLO] = { 32, false, false },
	[SDP_MID_HELLO_ACK] = { 28, false, true },
	[SDP_MID_DISCONN] = { 16, false, false },
	[SDP_MID_ABORT_CONN] = { 16, false, true },
	[SDP_MID_SEND_SM] = { 16, false, true },
	[SDP_MID_RDMA_WR_COMPL] = { 20, false, true },
	[SDP_MID_RDMA_RD_COMPL] = { 20, false, true },
	[SDP_MID_MODE_CHANGE] = { 20, false, false },
	[SDP_MID_SRC_AVAIL_CANCEL] = { 16, false, true },
	[SDP_MID_SINK_AVAIL_CANCEL] = { 16, false, true },
	[SDP_MID_SINK_CANCEL_ACK] = { 16, false, true },
	[SDP_MID_CH_RCV_BUF] = { 20, false, false },
	[SDP_MID_CH_RCV_BUF_ACK] = { 20, false, false },
	[SDP_MID_SUSP_COMM] = { 24, false, true },
	[SDP_MID_SUSP_COMM_ACK] = { 16, false, true },
};

static const struct mid_row high_mids[] = {
	{ 36, true, false },
	{ 32, true, false },
	{ 16, true, false },
};

static const struct mid_row *mid_row(uint8_t mid)
{
	static const struct mid_row none;

	if (mid < sizeof(low_mids) / sizeof(*low_mids))
		return &low_mids[mid];
	if (mid >= SDP_MID_SINK_AVAIL)
		return &high_mids[mid - SDP_MID_SINK_AVAIL];
	return &none;
}

size_t sdp_mid_header_size(uint8_t mid)
{
	return mid_row(mid)->header;
}

bool sdp_mid_may_have_payload(uint8_t mid)
{
	return mid_row(mid)->may_have_payload;
}

bool sdp_msg_is_solicited(uint8_t mid, uint8_t flags)
{
	if (mid == SDP_MID_DATA)
		return flags & (SDP_FLAG_OOB_PRES | SDP_FLAG_OOB_PEND);
	return mid_row(mid)->is_solicited;
}

/* ---- encode ---- */

static uint8_t *put_hello(uint8_t *p, const struct sdp_msg *msg,
			  enum sdp_layout layout)
{
	uint8_t min_v = msg->hello.min_v & 0xf, maj_v = msg->hello.maj_v & 0xf;

	if (layout == SDP_LAYOUT_FIGURE) {
		p = octets_put16(p, msg->hello.max_adverts);
		*p++ = 0;
		*p++ = (uint8_t)(min_v << 4 | maj_v);
	} else {
		*p++ = (uint8_t)(maj_v << 4 | min_v);
		*p++ = 0;
		p = octets_put16(p, msg->hello.max_adverts);
	}
	if (msg->mid == SDP_MID_HELLO)
		p = octets_put32(p, msg->hello.des_rem_rcv_sz);
	p = octets_put32(p, msg->hello.rcv_sz);
	if (layout == SDP_LAYOUT_FIGURE) {
		p = octets_put16(p, msg->hello.ird);
		return octets_put16(p, msg->hello.ord);
	}
	p = octets_put16(p, msg->hello.ord);
	return octets_put16(p, msg->hello.ird);
}

static uint8_t *put_avail(uint8_t *p, const struct sdp_msg *msg)
{
	p = octets_put32(p, msg->avail.len);
	p = octets_put32(p, msg->avail.stag);
	p = octets_put64(p, msg->avail.va); /* C3 */
	if (msg->mid == SDP_MID_SINK_AVAIL)
		p = octets_put32(p, msg->avail.non_discards);
	return p;
}

static uint8_t *put_change(uint8_t *p, const struct sdp_msg *msg,
			   enum sdp_layout layout)
{
	unsigned int mode = msg->change.mode & MCH_MODE;

	memset(p, 0, 4);
	if (layout == SDP_LAYOUT_FIGURE)
		p[3] = (uint8_t)(mode << MCH_FIGURE_MODE_SHIFT |
				 (msg->change.is_send_half ? MCH_FIGURE_S : 0));
	else
		p[0] = (uint8_t)(mode << MCH_MIRRORED_MODE_SHIFT |
				 (msg->change.is_send_half ? MCH_MIRRORED_S
							   : 0));
	return p + 4;
}

static uint8_t *put_susp(uint8_t *p, const struct sdp_msg *msg,
			 enum sdp_layout layout)
{
	p = octets_put32(p, SUSP_CONST1);
	if (layout == SDP_LAYOUT_FIGURE) {
		p = octets_put16(p, msg->susp_port);
		return octets_put16(p, SUSP_CONST2);
	}
	p = octets_put16(p, SUSP_CONST2);
	return octets_put16(p, msg->susp_port);
}

static uint8_t *put_extended(uint8_t *p, const struct sdp_msg *msg,
			     enum sdp_layout layout)
{
	switch (msg->mid) {
	case SDP_MID_HELLO:
	case SDP_MID_HELLO_ACK:
		return put_hello(p, msg, layout);
	case SDP_MID_SRC_AVAIL:
	case SDP_MID_SINK_AVAIL:
		return put_avail(p, msg);
	case SDP_MID_RDMA_WR_COMPL:
	case SDP_MID_RDMA_RD_COMPL:
		return octets_put32(p, msg->compl_len);
	case SDP_MID_MODE_CHANGE:
		return put_change(p, msg, layout);
	case SDP_MID_CH_RCV_BUF:
	case SDP_MID_CH_RCV_BUF_ACK:
		return octets_put32(p, msg->rcv_buf_size);
	case SDP_MID_SUSP_COMM:
		return put_susp(p, msg, layout);
	default:
		return p;
	}
}

size_t sdp_msg_encode(const struct sdp_msg *msg, enum sdp_layout layout,
		      uint8_t *out)
{
	size_t header = sdp_mid_header_size(msg->mid);
	uint8_t flags = msg->flags & SDP_FLAGS;
	uint8_t *p = out;

	assert(header);
	assert(!msg->payload_len || sdp_mid_may_have_payload(msg->mid));
	if (layout == SDP_LAYOUT_FIGURE) {
		p = octets_put16(p, msg->bufs);
		*p++ = flags;
		*p++ = msg->mid;
	} else {
		*p++ = msg->mid;
		*p++ = flags;
		p = octets_put16(p, msg->bufs);
	}
	p = octets_put32(p, (uint32_t)header + msg->payload_len);
	p = octets_put32(p, msg->mseq);
	p = octets_put32(p, msg->mseqack);
	p = put_extended(p, msg, layout);
	assert(p == out + header);
	return header;
}

/* ---- decode ---- */

static void get_hello(const uint8_t *p, enum sdp_layout layout,
		      struct sdp_msg *msg)
{
	bool is_figure = layout == SDP_LAYOUT_FIGURE;
	uint8_t version = is_figure ? p[3] : p[0];
	uint8_t high = version >> 4, low = version & 0xf;
	const uint8_t *sizes = p + 4;

	msg->hello.max_adverts = octets_get16(is_figure ? p : p + 2);
	msg->hello.min_v = is_figure ? high : low;
	msg->hello.maj_v = is_figure ? low : high;
	msg->hello.des_rem_rcv_sz = 0;
	if (msg->mid == SDP_MID_HELLO) {
		msg->hello.des_rem_rcv_sz = octets_get32(sizes);
		sizes += 4;
	}
	msg->hello.rcv_sz = octets_get32(sizes);
	msg->hello.ird = octets_get16(sizes + (is_figure ? 4 : 6));
	msg->hello.ord = octets_get16(sizes + (is_figure ? 6 : 4));
}

static enum sdp_fault get_avail(const uint8_t *p, struct sdp_msg *msg)
{
	msg->avail.len = octets_get32(p);
	msg->avail.stag = octets_get32(p + 4);
	msg->avail.va = octets_get64(p + 8);
	msg->avail.non_discards = 0;
	if (!msg->avail.len || msg->avail.len > SDP_LEN_MAX) /* SDP-140, 163 */
		return SDP_FAULT_AVAIL;
	if (msg->mid == SDP_MID_SINK_AVAIL)
		msg->avail.non_discards = octets_get32(p + 16);
	else if (msg->payload_len > msg->avail.len) /* SDP-139 */
		return SDP_FAULT_AVAIL;
	return SDP_FAULT_NONE;
}

static enum sdp_fault get_change(const uint8_t *p, enum sdp_layout layout,
				 struct sdp_msg *msg)
{
	if (layout == SDP_LAYOUT_FIGURE) {
		msg->change.mode = p[3] >> MCH_FIGURE_MODE_SHIFT & MCH_MODE;
		msg->change.is_send_half = p[3] & MCH_FIGURE_S;
	} else {
		msg->change.mode = p[0] >> MCH_MIRRORED_MODE_SHIFT & MCH_MODE;
		msg->change.is_send_half = p[0] & MCH_MIRRORED_S;
	}
	return msg->change.mode > SDP_MODE_PIPELINED ? SDP_FAULT_MODE
						     : SDP_FAULT_NONE;
}

static enum sdp_fault get_susp(const uint8_t *p, enum sdp_layout layout,
			       struct sdp_msg *msg)
{
	bool is_figure = layout == SDP_LAYOUT_FIGURE;

	msg->susp_port = octets_get16(p + (is_figure ? 4 : 6));
	if (octets_get32(p) != SUSP_CONST1 ||
	    octets_get16(p + (is_figure ? 6 : 4)) != SUSP_CONST2)
		return SDP_FAULT_SUSP;
	return SDP_FAULT_NONE;
}

static enum sdp_fault get_extended(const uint8_t *p, enum sdp_layout layout,
				   struct sdp_msg *msg)
{
	switch (msg->mid) {
	case SDP_MID_HELLO:
	case SDP_MID_HELLO_ACK:
		get_hello(p, layout, msg);
		return SDP_FAULT_NONE;
	case SDP_MID_SRC_AVAIL:
	case SDP_MID_SINK_AVAIL:
		return get_avail(p, msg);
	case SDP_MID_RDMA_WR_COMPL:
	case SDP_MID_RDMA_RD_COMPL:
		msg->compl_len = octets_get32(p);
		return SDP_FAULT_NONE;
	case SDP_MID_MODE_CHANGE:
		return get_change(p, layout, msg);
	case SDP_MID_CH_RCV_BUF:
	case SDP_MID_CH_RCV_BUF_ACK:
		msg->rcv_buf_size = octets_get32(p);
		return SDP_FAULT_NONE;
	case SDP_MID_SUSP_COMM:
		return get_susp(p, layout, msg);
	default:
		return SDP_FAULT_NONE;
	}
}

/* @is_padded: zeros may follow the message. */
static enum sdp_fault decode(const uint8_t *buf, size_t len, bool is_padded,
			     enum sdp_layout layout, struct sdp_msg *ret_msg)
{
	bool is_figure = layout == SDP_LAYOUT_FIGURE;
	struct sdp_msg msg;
	enum sdp_fault fault;
	uint32_t total;
	size_t header;

	if (len < SDP_BSDH_SIZE)
		return SDP_FAULT_LENGTH;
	memset(&msg, 0, sizeof(msg));
	msg.bufs = octets_get16(is_figure ? buf : buf + 2);
	msg.flags = (is_figure ? buf[2] : buf[1]) & SDP_FLAGS;
	msg.mid = is_figure ? buf[3] : buf[0];
	total = octets_get32(buf + 4);
	msg.mseq = octets_get32(buf + 8);
	msg.mseqack = octets_get32(buf + 12);
	header = sdp_mid_header_size(msg.mid);
	if (!header)
		return SDP_FAULT_MID;
	if (total > len || total < header)
		return SDP_FAULT_LENGTH;
	if (total != header && !sdp_mid_may_have_payload(msg.mid))
		return SDP_FAULT_LENGTH;
	msg.payload_len = total - (uint32_t)header;
	if (msg.flags & SDP_FLAG_OOB_PRES &&
	    (msg.mid != SDP_MID_DATA || !msg.payload_len)) /* SDP-8 */
		return SDP_FAULT_OOB;
	fault = get_extended(buf + SDP_BSDH_SIZE, layout, &msg);
	if (fault)
		return fault;
	for (size_t i = total; i < len; i++) {
		if (!is_padded || buf[i])
			return SDP_FAULT_LENGTH;
	}
	*ret_msg = msg;
	return SDP_FAULT_NONE;
}

enum sdp_fault sdp_msg_decode(const uint8_t *buf, size_t len,
			      enum sdp_layout layout, struct sdp_msg *ret_msg)
{
	return decode(buf, len, false, layout, ret_msg);
}

enum sdp_fault sdp_msg_decode_padded(const uint8_t *buf, size_t len,
				     enum sdp_layout layout,
				     struct sdp_msg *ret_msg)
{
	return decode(buf, len, true, layout, ret_msg);
}
