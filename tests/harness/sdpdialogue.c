/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Runs the steps of a dialogue.
 */
#include "sdpdialogue.h"

#include "test.h"

#include <stdio.h>
#include <string.h>

#include "hex.h"

static void check_in(struct dialogue *d, const char *name,
		     const struct step *step)
{
	uint8_t octets[512] = { 0 };
	size_t len = test_unhex(step->octets, octets, sizeof(octets));
	int ret;

	/* The payload's content does not matter: BSDH.Len gives its length. */
	assert_row(name, len <= octets[7] + 256u * octets[6]);
	len = octets[7] + 256u * octets[6];
	ret = script_raw(&d->s, octets, len);
	if (ret < 0)
		fail_msg("%s: %s: %s", name, step->octets,
			 sdp_fault_str(sdp_conn_fault(d->s.conn)));
}

static void check_out(struct dialogue *d, const char *name,
		      const struct step *step)
{
	const struct sdp_work *w = &d->s.work;
	uint8_t want[64];
	char is[2 * SDP_HEADER_MAX + 1] = "";
	size_t len = test_unhex(step->octets, want, sizeof(want));
	struct sdp_msg msg;

	if (!script_next(&d->s, &msg))
		fail_msg("%s: %s was not sent", name, step->octets);
	for (int i = 0; i < w->send.header_len; i++)
		sprintf(is + 2 * i, "%02x", w->send.header[i]);
	if (msg.mid == SDP_MID_RDMA_RD_COMPL ||
	    msg.mid == SDP_MID_RDMA_WR_COMPL)
		want[2] |= d->req_pipe;
	if (len != w->send.header_len || memcmp(want, w->send.header, len))
		fail_msg("%s: %s was sent instead of %s", name, is,
			 step->octets);
	/* SDP-23: a later message has the higher number. */
	assert_row(name, msg.mseq == d->mseq++);
	assert_row(name, w->id == d->work_id++);
	d->mids[msg.mid]++;
	d->flags |= msg.flags;
}

static void check_rdma(struct dialogue *d, const char *name,
		       const struct step *step)
{
	enum sdp_work_type want = step->act == ACT_READ ? SDP_WORK_READ
							: SDP_WORK_WRITE;

	assert_row(name, script_work(&d->s) == want);
	assert_row(name, d->s.work.rdma.piece.len == step->a);
	assert_row(name, d->s.work.id == d->work_id++);
}

static void check_event(struct dialogue *d, const char *name,
			const struct step *step)
{
	struct sdp_event ev;
	bool is_sent = step->act == ACT_SENT;

	assert_row(name,
		   script_event(&d->s, is_sent ? SDP_EV_SENT : SDP_EV_RECEIVED,
				&ev));
	assert_row(name,
		   step->a == (is_sent ? ev.sent.cookie : ev.received.cookie));
	assert_row(name, step->b == (is_sent ? ev.sent.len : ev.received.len));
}

static void act_of_ulp(struct script *s, const char *name,
		       const struct step *step)
{
	int ret = 0;

	switch (step->act) {
	case ACT_SEND:
		ret = script_send(s, step->a, step->b, step->flags);
		break;
	case ACT_POST:
		ret = script_post(s, step->a, step->b, step->flags);
		break;
	case ACT_CONSUME:
		ret = sdp_conn_consume(s->conn, step->a);
		break;
	case ACT_CANCEL_SEND:
		ret = sdp_conn_cancel_send(s->conn, step->a, s->now);
		break;
	case ACT_CANCEL_RECV:
		ret = sdp_conn_cancel_recv(s->conn, step->a, s->now);
		break;
	case ACT_MODE:
		ret = sdp_conn_set_mode(s->conn, (enum sdp_mode)step->a);
		break;
	case ACT_LEAVE_BUFFERED:
		s->conn->opt.has_manual_mode = false;
		ret = script_post(s, 9, s->conn->opt.sink_threshold + 1,
				  SDP_BUF_RDMA);
		break;
	case ACT_ASK_SIZE:
		ret = sdp_conn_ask_size(s->conn, step->a);
		break;
	case ACT_GRANT_SIZE:
		ret = sdp_conn_resize(s->conn, step->a);
		break;
	case ACT_SHUT:
		ret = sdp_conn_shutdown(s->conn, s->now);
		break;
	case ACT_ABORT:
		sdp_conn_abort(s->conn, s->now);
		break;
	case ACT_SUSPEND:
		ret = sdp_conn_suspend(s->conn, (uint16_t)step->a, s->now);
		break;
	default:
		fail();
	}
	assert_row(name, ret == 0);
}

static void run_step(struct dialogue *d, const char *name,
		     const struct step *step)
{
	struct script *s = &d->s;
	struct sdp_event ev;

	switch (step->act) {
	case ACT_IN:
		check_in(d, name, step);
		break;
	case ACT_OUT:
		check_out(d, name, step);
		break;
	case ACT_READ:
	case ACT_WRITE:
		check_rdma(d, name, step);
		break;
	case ACT_QUIET:
		assert_row(name, script_work(s) == SDP_WORK_NONE);
		break;
	case ACT_DONE:
		script_done(s);
		break;
	case ACT_SENT:
	case ACT_RECEIVED:
		check_event(d, name, step);
		break;
	case ACT_KEPT:
		assert_row(name, !script_event(s, SDP_EV_RECEIVED, &ev));
		break;
	case ACT_THERE:
		assert_row(name, sdp_conn_buffered(s->conn) == step->a);
		break;
	case ACT_COPIES:
		while (sdp_conn_next_event(s->conn, &ev))
			;
		break;
	default:
		act_of_ulp(s, name, step);
	}
}

void dialogue_run(struct dialogue *d, const char *name,
		  const struct step *steps, enum sdp_req_pipe req_pipe)
{
	struct sdp_options opt = script_options(SDP_CONNECTING);

	opt.req_pipe = req_pipe;
	d->req_pipe = req_pipe == SDP_REQ_PIPE_ALWAYS ? SDP_FLAG_REQ_PIPE : 0;
	d->mseq = d->work_id = 0;
	script_open(&d->s, &opt, 16);
	for (; steps->act != ACT_END; steps++)
		run_step(d, name, steps);
	script_fini(&d->s);
}
