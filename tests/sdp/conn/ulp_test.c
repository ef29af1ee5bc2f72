/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Calls of the ULP: what is refused, what is returned, in which order.
 */
#include "test.h"

#include <errno.h>

#include "sdpscript.h"

static void open_it(struct script *s)
{
	struct sdp_options opt = script_options(SDP_CONNECTING);

	opt.send_cap = opt.recv_cap = 3;
	script_open(s, &opt, 16);
}

static int setup(void **state)
{
	static struct script s;

	open_it(&s);
	*state = &s;
	return 0;
}

#define ULP_CASE(name) CASE_WITH(name, setup, script_teardown)

CASE(refuses_calls_before_and_after)
{
	struct sdp_options opt = script_options(SDP_CONNECTING);
	struct sdp_buf buf = { .cookie = 1, .len = 10 };
	struct sdp_conn *conn;
	struct script s;

	assert_int_equal(sdp_conn_new(&conn, &opt), 0);
	assert_int_equal(sdp_conn_send(conn, &buf), -EPIPE);
	assert_int_equal(sdp_conn_post_recv(conn, &buf), -ENOTCONN);
	assert_int_equal(sdp_conn_shutdown(conn, 0), -ENOTCONN);
	assert_int_equal(sdp_conn_ask_size(conn, 100), -EINVAL);
	assert_int_equal(sdp_conn_suspend(conn, 1, 0), -EINVAL);
	assert_int_equal(sdp_conn_move(conn, SDP_CONNECTING, SDP_CM_SEND, 0),
			 -EINVAL);
	sdp_conn_free(conn);
	open_it(&s);
	sdp_conn_llp_down(s.conn, 0);
	assert_int_equal(script_send(&s, 1, 10, 0), -EPIPE); /* T32 */
	assert_int_equal(script_post(&s, 1, 10, 0), -ENOTCONN);
	script_fini(&s);
}

ULP_CASE(takes_as_many_buffers_as_it_can)
{
	struct script *s = *state;

	assert_int_equal(script_send(s, 1, 0, 0), -EINVAL);
	assert_int_equal(script_send(s, 1, 0x80000001, 0), -EINVAL);
	for (uint64_t i = 1; i <= 3; i++) {
		assert_int_equal(sdp_conn_send_room(s->conn), 4 - i);
		assert_int_equal(script_send(s, i, 10, 0), 0);
		assert_int_equal(script_post(s, i, 10, 0), 0);
	}
	assert_int_equal(script_send(s, 4, 10, 0), -EAGAIN);
	assert_int_equal(script_post(s, 4, 10, 0), -EAGAIN);
}

ULP_CASE(lets_the_newest_buffer_grow)
{
	struct sdp_msg msg;
	struct script *s = *state;

	assert_int_equal(sdp_conn_send_more(s->conn, 1, 5), -ENOENT);
	script_send(s, 1, 10, 0);
	assert_int_equal(sdp_conn_send_more(s->conn, 1, 5), 0);
	script_send(s, 2, 10, SDP_BUF_OOB);
	assert_int_equal(sdp_conn_send_more(s->conn, 1, 5), -ENOENT);
	assert_int_equal(sdp_conn_send_more(s->conn, 2, 5), -ENOENT);
	assert_true(script_next(s, &msg));
	assert_int_equal(msg.payload_len, 25);
	assert_int_equal(s->work.send.pieces[0].len, 15);
}

/* SDP-150: not before the work that uses its memory has completed. */
ULP_CASE(gives_send_buffers_back_in_order)
{
	struct sdp_event ev;
	struct script *s = *state;

	script_send(s, 1, 10, 0);
	script_send(s, 2, 1000, SDP_BUF_RDMA);
	assert_int_equal(script_mid(s), SDP_MID_DATA);
	assert_int_equal(script_mid(s), SDP_MID_SRC_AVAIL);
	assert_false(script_event(s, SDP_EV_SENT, &ev));
	script_done(s);
	assert_true(script_event(s, SDP_EV_SENT, &ev));
	assert_int_equal(ev.sent.cookie, 1);
	assert_false(script_event(s, SDP_EV_SENT, &ev));
	script_recv(s, (struct sdp_msg){ .mid = SDP_MID_RDMA_RD_COMPL,
					 .compl_len = 984 });
	assert_true(script_event(s, SDP_EV_SENT, &ev));
	assert_int_equal(ev.sent.cookie, 2);
}

ULP_CASE(cuts_cancelled_buffers_out)
{
	struct sdp_msg msg;
	struct sdp_event ev;
	struct script *s = *state;

	for (uint64_t i = 1; i <= 3; i++)
		script_send(s, i, (uint32_t)(10 * i), 0);
	assert_int_equal(sdp_conn_cancel_send(s->conn, 9, 0), -ENOENT);
	assert_int_equal(sdp_conn_cancel_send(s->conn, 2, 0), 0);
	assert_int_equal(sdp_conn_cancel_send(s->conn, 2, 0), 0);
	assert_true(script_next(s, &msg));
	assert_int_equal(msg.payload_len, 40);
	script_done(s);
	for (uint64_t i = 1; i <= 3; i++) {
		assert_true(script_event(s, SDP_EV_SENT, &ev));
		assert_int_equal(ev.sent.cookie, i);
		assert_int_equal(ev.sent.len, i == 2 ? 0 : 10 * i);
	}
}

/* The memory must not stay in use because a peer accepts nothing more. */
CASE(gives_a_cancelled_buffer_back_before_others)
{
	struct sdp_options opt = script_options(SDP_CONNECTING);
	struct sdp_event ev;
	struct sdp_msg msg;
	struct script s;

	script_open(&s, &opt, 3);
	script_send(&s, 1, 1000, 0);
	script_send(&s, 2, 1000, SDP_BUF_RDMA);
	script_send(&s, 3, 10, 0);
	while (script_next(&s, &msg))
		;
	script_done(&s);
	assert_int_equal(sdp_conn_credit(s.conn), 1);
	assert_false(script_event(&s, SDP_EV_SENT, &ev));
	assert_int_equal(sdp_conn_cancel_send(s.conn, 2, 0), 0);
	assert_true(script_event(&s, SDP_EV_SENT, &ev));
	assert_int_equal(ev.sent.cookie, 2);
	assert_int_equal(ev.sent.len, 0);
	/* A buffer that was partly sent stays, and is returned in its turn. */
	assert_int_equal(sdp_conn_cancel_send(s.conn, 1, 0), 0);
	assert_true(script_event(&s, SDP_EV_SENT, &ev));
	assert_int_equal(ev.sent.cookie, 1);
	assert_int_equal(ev.sent.len, 240);
	assert_false(script_event(&s, SDP_EV_SENT, &ev));
	s.bufs = 16;
	script_plain(&s, SDP_MID_DATA);
	assert_true(script_next(&s, &msg));
	assert_int_equal(msg.payload_len, 10);
	script_done(&s);
	assert_true(script_event(&s, SDP_EV_SENT, &ev));
	assert_int_equal(ev.sent.cookie, 3);
	assert_int_equal(s.conn->send_cancel_cnt, 0);
	script_fini(&s);
}

/* A cancelled urgent octet is not announced. */
ULP_CASE(cuts_an_urgent_octet_out)
{
	struct sdp_msg msg;
	struct script *s = *state;

	script_send(s, 1, 10, SDP_BUF_OOB);
	script_send(s, 2, 10, 0);
	assert_int_equal(sdp_conn_cancel_send(s->conn, 1, 0), 0);
	assert_true(script_next(s, &msg));
	assert_int_equal(msg.payload_len, 10);
	assert_int_equal(msg.flags, 0);
	assert_int_equal(script_mid(s), -1);
}

ULP_CASE(delivers_in_place)
{
	struct sdp_piece piece;
	struct sdp_event ev;
	struct script *s = *state;
	bool is_oob;

	assert_int_equal(sdp_conn_peek(s->conn, 0, &piece, &is_oob), 0);
	s->rx = 100;
	script_data(s, 10, 0);
	script_data(s, 5, SDP_FLAG_OOB_PRES | SDP_FLAG_OOB_PEND);
	assert_true(script_event(s, SDP_EV_OOB_PENDING, &ev));
	assert_int_equal(sdp_conn_readable(s->conn), 15);
	assert_int_equal(sdp_conn_peek(s->conn, 4, &piece, &is_oob), 1);
	assert_int_equal(piece.cookie, 100);
	assert_int_equal(piece.off, 20);
	assert_int_equal(piece.len, 6);
	assert_false(is_oob);
	assert_int_equal(sdp_conn_peek(s->conn, 12, &piece, &is_oob), 1);
	assert_int_equal(piece.cookie, 101);
	assert_true(is_oob);
	assert_int_equal(sdp_conn_consume(s->conn, 16), -EINVAL);
	assert_int_equal(sdp_conn_consume(s->conn, 12), 0);
	assert_true(script_event(s, SDP_EV_RELEASE, &ev));
	assert_int_equal(ev.release.cookie, 100);
	assert_false(script_event(s, SDP_EV_RELEASE, &ev));
	script_post(s, 1, 10, 0);
	assert_int_equal(sdp_conn_peek(s->conn, 0, &piece, &is_oob), -EBUSY);
	assert_int_equal(sdp_conn_consume(s->conn, 1), -EBUSY);
}

/* SDP-84, SDP-174, SDP-175: which part of the stream a buffer receives. */
CASE(fills_receive_buffers)
{
	static const struct {
		const char *name;
		uint8_t flags;
		uint32_t messages[3]; /* before the buffer is posted */
		uint8_t oob;	      /* in which one, from 1 on */
		uint32_t len;	      /* octets returned; 0: nothing yet */
	} rows[] = {
		{ "one message", 0, { 10 }, 0, 10 },
		{ "all that is there", 0, { 10, 20, 30 }, 0, 60 },
		{ "no more than fits", 0, { 100, 20 }, 0, 100 },
		{ "not full", SDP_BUF_WAITALL, { 10, 20 }, 0, 0 },
		{ "full", SDP_BUF_WAITALL, { 60, 60 }, 0, 100 },
		{ "up to the urgent octet", 0, { 10, 20, 30 }, 2, 30 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sdp_event ev;
		struct script s;
		bool has_come;

		open_it(&s);
		for (int m = 0; m < 3 && rows[i].messages[m]; m++)
			script_data(&s, rows[i].messages[m],
				    m + 1 == rows[i].oob ? SDP_FLAG_OOB_PRES
							 : 0);
		script_post(&s, 1, 100, rows[i].flags);
		has_come = script_event(&s, SDP_EV_RECEIVED, &ev);
		assert_row(rows[i].name, has_come == (rows[i].len > 0));
		assert_row(rows[i].name,
			   !has_come || ev.received.len == rows[i].len);
		assert_row(rows[i].name,
			   !has_come || ev.received.is_oob == !!rows[i].oob);
		script_fini(&s);
	}
}

/* T31, SDP-98, SDP-99 */
ULP_CASE(ends_receives_at_the_end)
{
	struct sdp_event ev;
	struct script *s = *state;

	script_post(s, 1, 10, 0);
	script_plain(s, SDP_MID_DISCONN);
	assert_true(script_event(s, SDP_EV_RECEIVED, &ev));
	assert_true(ev.received.is_eof && !ev.received.len);
	script_post(s, 2, 10, 0);
	assert_true(script_event(s, SDP_EV_RECEIVED, &ev));
	assert_int_equal(ev.received.cookie, 2);
}

ULP_CASE(gives_cancelled_receives_back)
{
	struct sdp_event ev;
	struct script *s = *state;

	script_post(s, 1, 10, 0);
	script_post(s, 2, 10, 0);
	assert_int_equal(sdp_conn_cancel_recv(s->conn, 9, 0), -ENOENT);
	assert_int_equal(sdp_conn_cancel_recv(s->conn, 2, 0), 0);
	assert_true(script_event(s, SDP_EV_RECEIVED, &ev));
	assert_int_equal(ev.received.cookie, 2);
	assert_true(ev.received.is_cancelled);
	assert_false(script_event(s, SDP_EV_RECEIVED, &ev));
}

/* SDP-161: for a receive that cannot wait. */
ULP_CASE(refuses_what_is_advertised)
{
	struct sdp_msg msg = { .mid = SDP_MID_SRC_AVAIL, .payload_len = 1 };
	struct script *s = *state;

	assert_int_equal(sdp_conn_refuse_advert(s->conn), -ENOENT);
	msg.avail.len = 500;
	script_recv(s, msg);
	assert_int_equal(sdp_conn_readable(s->conn), 500);
	assert_int_equal(sdp_conn_refuse_advert(s->conn), 0);
	assert_int_equal(script_mid(s), SDP_MID_SEND_SM);
	assert_int_equal(sdp_conn_refuse_advert(s->conn), -ENOENT);
}

/* C9: a buffer that received nothing waits again. */
ULP_CASE(keeps_a_buffer_that_got_nothing)
{
	struct sdp_msg msg = { .mid = SDP_MID_MODE_CHANGE,
			       .change = { SDP_MODE_PIPELINED, false } };
	struct sdp_event ev;
	struct script *s = *state;

	script_recv(s, msg);
	script_post(s, 1, 400, SDP_BUF_RDMA);
	script_post(s, 2, 400, SDP_BUF_RDMA);
	assert_int_equal(script_mid(s), SDP_MID_SINK_AVAIL);
	assert_int_equal(script_mid(s), SDP_MID_SINK_AVAIL);
	msg = (struct sdp_msg){ .mid = SDP_MID_RDMA_WR_COMPL };
	assert_int_equal(script_recv(s, msg), 0);
	assert_false(script_event(s, SDP_EV_RECEIVED, &ev));
	script_data(s, 7, 0);
	assert_true(script_event(s, SDP_EV_RECEIVED, &ev));
	assert_int_equal(ev.received.cookie, 2);
	assert_int_equal(ev.received.len, 7);
}

ULP_CASE(refuses_unknown_completions)
{
	struct script *s = *state;

	assert_int_equal(sdp_conn_work_done(s->conn, 0, true, 0), -EINVAL);
	script_send(s, 1, 10, 0);
	assert_int_equal(script_mid(s), SDP_MID_DATA);
	assert_int_equal(sdp_conn_work_done(s->conn, 1, true, 0), -EINVAL);
	assert_int_equal(sdp_conn_work_done(s->conn, 0, true, 0), 0);
	assert_int_equal(sdp_conn_work_done(s->conn, 0, true, 0), -EINVAL);
}

/* At most work_cap are posted, and one of them is signalled. */
CASE(keeps_within_the_send_queue)
{
	struct sdp_options opt = script_options(SDP_CONNECTING);
	struct script s;
	uint32_t signaled = 0, cnt = 0, last = 0;

	opt.work_cap = 4;
	script_open(&s, &opt, 100);
	script_send(&s, 1, 10000, 0);
	while (script_mid(&s) == SDP_MID_DATA) {
		cnt++;
		if (s.work.is_signaled) {
			signaled++;
			last = s.work.id;
		}
	}
	assert_int_equal(cnt, 4);
	assert_true(signaled > 0);
	assert_int_equal(sdp_conn_work_done(s.conn, last, true, 0), 0);
	assert_int_equal(script_mid(&s), SDP_MID_DATA);
	script_fini(&s);
}
