/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A scripted SDP peer.
 */
#include "sdpscript.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "must.h"

struct sdp_options script_options(enum sdp_role role)
{
	struct sdp_options opt = SDP_OPTIONS_INIT;

	opt.role = role;
	opt.carrier = SDP_CM_SEND;
	opt.bufs = 16;
	opt.buf_size = 256;
	opt.buf_size_max = 300;
	opt.max_adverts = 4;
	opt.src_threshold = 300;
	opt.sink_threshold = 300;
	opt.read_min = 64;
	opt.inline_max = 16;
	opt.rdma_max = 400;
	opt.has_manual_mode = true;
	opt.req_pipe = SDP_REQ_PIPE_NEVER;
	return opt;
}

struct sdp_msg script_hello(uint8_t mid, uint16_t bufs)
{
	struct sdp_msg msg = { .mid = mid, .bufs = bufs };

	msg.hello.max_adverts = 4;
	msg.hello.min_v = msg.hello.maj_v = 1;
	msg.hello.rcv_sz = 256;
	msg.hello.ird = msg.hello.ord = 2;
	return msg;
}

void script_open(struct script *s, const struct sdp_options *opt, uint16_t bufs)
{
	uint8_t octets[SDP_HEADER_MAX];
	struct sdp_msg msg;
	struct sdp_event ev;
	size_t len;

	memset(s, 0, sizeof(*s));
	s->bufs = bufs;
	must(!sdp_conn_new(&s->conn, opt));
	must(!sdp_conn_start(s->conn, 0));
	if (opt->role == SDP_CONNECTING) {
		must(script_work(s) == SDP_WORK_HELLO);
		must(!sdp_conn_carrier_up(s->conn, NULL, 0, 0, 0));
		msg = script_hello(SDP_MID_HELLO_ACK, bufs);
		len = sdp_msg_encode(&msg, opt->layout, octets);
		must(!script_raw(s, octets, len));
	} else {
		msg = script_hello(SDP_MID_HELLO, bufs);
		len = sdp_msg_encode(&msg, opt->layout, octets);
		must(!sdp_conn_hello(s->conn, octets, len, 0));
		must(script_work(s) == SDP_WORK_NONE);
		must(!sdp_conn_carrier_up(s->conn, NULL, 0, 0, 0));
		must(script_mid(s) == SDP_MID_HELLO_ACK);
	}
	must(script_event(s, SDP_EV_CONNECTED, &ev));
}

void script_open_as(struct script *s, enum sdp_role role, uint16_t bufs)
{
	struct sdp_options opt = script_options(role);

	script_open(s, &opt, bufs);
}

void script_fini(struct script *s)
{
	sdp_conn_free(s->conn);
}

int script_setup(void **state)
{
	static struct script s;

	script_open_as(&s, SDP_CONNECTING, 16);
	*state = &s;
	return 0;
}

int script_teardown(void **state)
{
	script_fini(*state);
	return 0;
}

enum sdp_work_type script_work(struct script *s)
{
	while (sdp_conn_next_work(s->conn, &s->work)) {
		if (s->work.type != SDP_WORK_POST)
			return s->work.type;
		s->posted += s->work.post.cnt;
	}
	s->work.type = SDP_WORK_NONE;
	return SDP_WORK_NONE;
}

bool script_next(struct script *s, struct sdp_msg *ret_msg)
{
	uint8_t octets[2048] = { 0 };
	uint32_t len;

	if (script_work(s) != SDP_WORK_SEND)
		return false;
	len = s->work.send.header_len;
	memcpy(octets, s->work.send.header, len);
	for (int i = 0; i < s->work.send.piece_cnt; i++)
		len += s->work.send.pieces[i].len;
	must(len <= sizeof(octets));
	must(!sdp_msg_decode(octets, len, s->conn->opt.layout, ret_msg));
	must(s->work.send.is_solicited ==
	     sdp_msg_is_solicited(ret_msg->mid, ret_msg->flags));
	if (ret_msg->mid != SDP_MID_HELLO_ACK)
		s->ack = ret_msg->mseq;
	return true;
}

int script_mid(struct script *s)
{
	struct sdp_msg msg;

	return script_next(s, &msg) ? msg.mid : -1;
}

void script_done(struct script *s)
{
	for (uint32_t id = s->conn->done_id; id != s->conn->next_id; id++)
		must(!sdp_conn_work_done(s->conn, id, true, s->now));
}

int script_raw(struct script *s, const void *octets, size_t len)
{
	return sdp_conn_recv(s->conn, s->rx++, octets, len, NULL, s->now);
}

int script_recv(struct script *s, struct sdp_msg msg)
{
	uint8_t octets[2048] = { 0 };
	size_t len;

	msg.mseq = s->mseq++;
	msg.mseqack = s->ack;
	msg.bufs = s->bufs;
	len = sdp_msg_encode(&msg, s->conn->opt.layout, octets);
	must(len + msg.payload_len <= sizeof(octets));
	return script_raw(s, octets, len + msg.payload_len);
}

int script_plain(struct script *s, uint8_t mid)
{
	return script_recv(s, (struct sdp_msg){ .mid = mid });
}

int script_data(struct script *s, uint32_t len, uint8_t flags)
{
	return script_recv(s, (struct sdp_msg){ .mid = SDP_MID_DATA,
						.payload_len = len,
						.flags = flags });
}

bool script_event(struct script *s, enum sdp_event_type type,
		  struct sdp_event *ret_ev)
{
	while (sdp_conn_next_event(s->conn, ret_ev)) {
		if (ret_ev->type == type)
			return true;
	}
	return false;
}

static struct sdp_buf buf(uint64_t cookie, uint32_t len, uint8_t flags)
{
	return (struct sdp_buf){ .cookie = cookie,
				 .len = len,
				 .flags = flags,
				 .stag = 0x5000 + (uint32_t)cookie,
				 .va = 0x10000 * cookie };
}

int script_send(struct script *s, uint64_t cookie, uint32_t len, uint8_t flags)
{
	struct sdp_buf b = buf(cookie, len, flags);

	return sdp_conn_send(s->conn, &b);
}

int script_post(struct script *s, uint64_t cookie, uint32_t len, uint8_t flags)
{
	struct sdp_buf b = buf(cookie, len, flags);

	return sdp_conn_post_recv(s->conn, &b);
}
