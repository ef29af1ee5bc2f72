/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Hello and HelloAck.
 */
#include "conn/hello.h"

#include <errno.h>
#include <string.h>

#include "conn/end.h"
#include "conn/tx.h"

/* ---- checks ---- */

/* Reception checks of 3.1. Fields that they do not mention are ignored. */
static bool is_acceptable(const struct sdp_msg *msg, uint8_t mid)
{
	return msg->mid == mid && !msg->flags && msg->bufs >= SDP_BUFS_MIN &&
	       msg->hello.maj_v == SDP_VERSION_MAJOR && /* SDP-57, SDP-70 */
	       msg->hello.max_adverts &&		/* SDP-58, SDP-71 */
	       msg->hello.ird && msg->hello.ord &&	/* SDP-59, SDP-71 */
	       msg->hello.rcv_sz >= SDP_BUF_SIZE_MIN &&
	       msg->hello.rcv_sz <= SDP_LEN_MAX &&
	       msg->hello.des_rem_rcv_sz <= SDP_LEN_MAX;
}

static uint16_t min16(uint16_t a, uint16_t b)
{
	return a < b ? a : b;
}

/* Takes over what the peer's Hello or HelloAck says about the peer. */
static void take_peer(struct sdp_conn *conn, const struct sdp_msg *msg)
{
	conn->minor = msg->hello.min_v < SDP_VERSION_MINOR
			      ? msg->hello.min_v
			      : SDP_VERSION_MINOR; /* SDP-61 */
	conn->peer_max_adverts = msg->hello.max_adverts;
	conn->ord = min16(conn->opt.ord, msg->hello.ird); /* SDP-67, 73 */
	if (conn->carrier_ord)
		conn->ord = min16(conn->ord, conn->carrier_ord);
	sdp_credit_on_hello(&conn->credit, msg->bufs);
	sdp_resize_on_hello(&conn->resize, msg->hello.rcv_sz);
}

static void open_connection(struct sdp_conn *conn)
{
	conn->stage = SDP_STAGE_OPEN;
	conn->was_open = true;
	conn->news.connected = true;
	sdp_conn_disarm(conn, SDP_TIMER_START);
	if (conn->moving.is_wanted)
		sdp_conn_arm(conn, SDP_TIMER_SUSP, conn->opt.susp_ms);
	sdp_end_check(conn); /* both sides may have closed before a move */
}

/* ---- messages received ---- */

void sdp_start_begin(struct sdp_conn *conn)
{
	sdp_credit_init(&conn->credit, conn->opt.bufs + 1, conn->opt.first_mseq,
			conn->opt.peer_first_mseq);
	sdp_resize_init(&conn->resize, conn->resize.own_size
					       ? conn->resize.own_size
					       : conn->opt.buf_size);
	conn->source.pnd = conn->opt.first_non_discards;
	conn->sink.nd = conn->opt.first_non_discards;
	conn->is_carrier_up = false;
	conn->is_hello_out = false;
	conn->carrier_ord = 0;
	conn->may_be_rtr = conn->opt.role == SDP_ACCEPTING;
	conn->stage = conn->opt.role == SDP_ACCEPTING ? SDP_STAGE_LISTEN
						      : SDP_STAGE_HELLO;
	sdp_conn_arm(conn, SDP_TIMER_START, conn->opt.start_ms);
}

int sdp_conn_start(struct sdp_conn *conn, uint64_t now)
{
	if (conn->stage != SDP_STAGE_IDLE)
		return -EINVAL;
	conn->now = now;
	sdp_start_begin(conn);
	return 0;
}

int sdp_conn_hello(struct sdp_conn *conn, const void *octets, size_t len,
		   uint64_t now)
{
	struct sdp_msg msg;

	if (conn->stage != SDP_STAGE_LISTEN)
		return -EINVAL;
	conn->now = now;
	if (sdp_msg_decode_padded(octets, len, conn->opt.layout, &msg) ||
	    !is_acceptable(&msg, SDP_MID_HELLO)) {
		sdp_end_fail(conn, SDP_FAULT_HELLO);
		return -EPROTO;
	}
	take_peer(conn, &msg);
	conn->stage = SDP_STAGE_ACCEPT;
	return 0;
}

static enum sdp_fault take_hello_ack(struct sdp_conn *conn,
				     const struct sdp_msg *msg)
{
	if (!is_acceptable(msg, SDP_MID_HELLO_ACK))
		return SDP_FAULT_HELLO;
	take_peer(conn, msg);
	open_connection(conn);
	return SDP_FAULT_NONE;
}

enum sdp_fault sdp_start_on_hello_ack(struct sdp_conn *conn, const void *octets,
				      size_t len)
{
	struct sdp_msg msg;

	if (!conn->is_hello_out || !conn->credit.posted ||
	    sdp_msg_decode(octets, len, conn->opt.layout, &msg))
		return SDP_FAULT_HELLO;
	conn->is_carrier_up = true; /* otherwise nothing could arrive */
	sdp_credit_hello_ack_came(&conn->credit);
	return take_hello_ack(conn, &msg);
}

/* Private data of a Reply without a HelloAck: none, or padding. */
static bool is_padding(const uint8_t *octets, size_t len)
{
	while (len && !octets[len - 1])
		len--;
	return !len;
}

int sdp_conn_carrier_up(struct sdp_conn *conn, const void *octets, size_t len,
			uint16_t ord, uint64_t now)
{
	struct sdp_msg msg;
	enum sdp_fault fault = SDP_FAULT_HELLO;

	if (!conn->is_hello_out ||
	    (conn->stage != SDP_STAGE_HELLO &&
	     conn->stage != SDP_STAGE_ACCEPT && conn->stage != SDP_STAGE_OPEN))
		return -EINVAL;
	conn->now = now;
	/* The first message comes from the Connecting Peer (part 5). Linux's
	 * siw fails a connection in which a message directly follows the MPA
	 * Reply. */
	conn->is_carrier_up = conn->is_carrier_up ||
			      conn->opt.role == SDP_CONNECTING ||
			      conn->opt.carrier != SDP_CM_PRIV;
	conn->carrier_ord = ord;
	if (ord)
		conn->ord = min16(conn->ord, ord);
	if (conn->stage != SDP_STAGE_HELLO)
		return 0;
	/* Private data determines the kind of the carrier (C7). */
	if (is_padding(octets, len))
		return 0;
	if (!sdp_msg_decode_padded(octets, len, conn->opt.layout, &msg))
		fault = take_hello_ack(conn, &msg);
	if (fault) {
		sdp_end_fail(conn, fault);
		return -EPROTO;
	}
	conn->due.first_data = true;
	return 0;
}

/* ---- messages sent ---- */

static void fill_hello(struct sdp_conn *conn, uint8_t mid, struct sdp_msg *msg)
{
	memset(msg, 0, sizeof(*msg));
	msg->mid = mid;
	msg->bufs = sdp_credit_hello_bufs(&conn->credit);
	msg->hello.max_adverts = conn->opt.max_adverts;
	msg->hello.min_v = SDP_VERSION_MINOR; /* SDP-56 */
	msg->hello.maj_v = SDP_VERSION_MAJOR;
	if (mid == SDP_MID_HELLO)
		msg->hello.des_rem_rcv_sz = conn->opt.wish_size;
	msg->hello.rcv_sz = conn->resize.own_size;
	msg->hello.ird = conn->opt.ird;
	/* In HelloAck: the result of taking the Hello into account (C24). */
	msg->hello.ord = mid == SDP_MID_HELLO ? conn->opt.ord : conn->ord;
}

static void hello_work(struct sdp_conn *conn, uint8_t mid,
		       struct sdp_work *work)
{
	uint8_t header[SDP_HEADER_MAX];
	struct sdp_msg msg;

	fill_hello(conn, mid, &msg);
	work->type = SDP_WORK_HELLO;
	work->hello.len =
		(uint8_t)sdp_msg_encode(&msg, conn->opt.layout, header);
	memcpy(work->hello.octets, header, work->hello.len);
	conn->is_hello_out = true;
}

bool sdp_start_next_work(struct sdp_conn *conn, struct sdp_work *work)
{
	struct sdp_msg msg;

	if (conn->stage == SDP_STAGE_HELLO && !conn->is_hello_out) {
		hello_work(conn, SDP_MID_HELLO, work);
		return true;
	}
	if (conn->stage != SDP_STAGE_ACCEPT)
		return false;
	if (conn->opt.carrier == SDP_CM_PRIV) {
		hello_work(conn, SDP_MID_HELLO_ACK, work);
		open_connection(conn);
		return true;
	}
	conn->is_hello_out = true; /* the acceptance itself; HelloAck follows */
	if (!conn->is_carrier_up)
		return false;
	fill_hello(conn, SDP_MID_HELLO_ACK, &msg);
	sdp_tx_unnumbered(conn, &msg, work);
	open_connection(conn); /* SDP-69 */
	return true;
}
