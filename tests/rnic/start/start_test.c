/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The start exchange of both sides, and its failures. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "must.h"
#include "test.h"
#include "loop/loop.h"
#include "os/fd.h"
#include "start/start.h"

enum { INITIATOR, RESPONDER };

static struct rnic_start side[2];

static int begin(void **state)
{
	int fd[2];

	must(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
			 fd));
	for (int i = 0; i < 2; i++) {
		side[i] = (struct rnic_start){ .fd = rnic_fd_own(fd[i]) };
		must(side[i].fd >= 0);
	}
	return 0;
}

static int end(void **state)
{
	rnic_start_close(&side[0]);
	rnic_start_close(&side[1]);
	return 0;
}

#define FILE_CASE(name) CASE_WITH(name, begin, end)

static void open_side(int i, const char *pd)
{
	struct smpa_options opt = SMPA_OPTIONS_INIT;

	opt.role = i == INITIATOR ? SMPA_INITIATOR : SMPA_RESPONDER;
	opt.rev = 2;
	opt.ird = 4;
	opt.ord = 3;
	assert_int_equal(
		rnic_start_open(&side[i], &opt, pd, pd ? strlen(pd) : 0), 0);
	/* The stream has the socket now. */
	assert_int_equal(side[i].fd, -1);
	assert_true(rnic_start_fd(&side[i]) >= 0);
}

static void say(int i, const char *octets, size_t len)
{
	must(write(rnic_start_fd(&side[i]), octets, len) == (ssize_t)len);
}

/* Waits for the Request. */
static void ask(struct smpa_event *ret_ev)
{
	open_side(INITIATOR, "who");
	open_side(RESPONDER, NULL);
	assert_int_equal(rnic_start_step(&side[RESPONDER], ret_ev), 0);
	assert_int_equal(rnic_start_step(&side[INITIATOR], ret_ev), 0);
	assert_int_equal(rnic_start_step(&side[RESPONDER], ret_ev), 1);
	assert_int_equal(ret_ev->type, SMPA_EV_REQUEST);
	assert_int_equal(ret_ev->start.pd_len, 3);
	assert_memory_equal(ret_ev->start.pd, "who", 3);
}

FILE_CASE(both_sides_are_established)
{
	struct smpa_event ev;

	ask(&ev);
	assert_int_equal(
		smpa_conn_accept(side[RESPONDER].stream->conn, "me", 2, 2, 4),
		0);
	assert_int_equal(rnic_start_established(&side[RESPONDER], &ev), 0);
	/* The engine sends the Reply, or the owner of the stream does. */
	assert_int_equal(rnic_stream_start_flush(side[RESPONDER].stream), 0);
	assert_int_equal(rnic_start_step(&side[INITIATOR], &ev), 1);
	assert_int_equal(ev.type, SMPA_EV_ESTABLISHED);
	assert_memory_equal(ev.start.pd, "me", 2);
	for (int i = 0; i < 2; i++) {
		assert_true(side[i].ird > 0 && side[i].ird <= 4);
		assert_true(side[i].ord > 0 && side[i].ord <= 4);
	}
	assert_int_equal(side[INITIATOR].ird, ev.start.ird);
	assert_int_equal(side[INITIATOR].ord, ev.start.ord);
}

FILE_CASE(a_rejection_is_told)
{
	struct smpa_event ev;

	ask(&ev);
	assert_int_equal(
		smpa_conn_reject(side[RESPONDER].stream->conn, "no", 2), 0);
	assert_int_equal(rnic_stream_start_flush(side[RESPONDER].stream), 0);
	assert_int_equal(rnic_start_step(&side[INITIATOR], &ev), 1);
	assert_int_equal(ev.type, SMPA_EV_REJECTED);
	assert_memory_equal(ev.start.pd, "no", 2);
}

FILE_CASE(other_octets_are_a_fault)
{
	struct smpa_event ev;

	open_side(RESPONDER, NULL);
	say(INITIATOR, "GET / HTTP/1.1\r\n\r\n..", 20);
	assert_int_equal(rnic_start_step(&side[RESPONDER], &ev), 1);
	assert_int_equal(ev.type, SMPA_EV_FAULT);
}

/* At each octet of a Request, and before a Reply: the result is the same. */
FILE_CASE(a_peer_that_has_gone_is_gone)
{
	static const char request[] = "MPA ID Req Frame\x50\x02\x00\x04"
				      "\x80\x04\x80\x04";

	for (size_t len = 0; len < sizeof(request) - 1; len++) {
		struct smpa_event ev;

		open_side(RESPONDER, NULL);
		if (len)
			say(INITIATOR, request, len);
		assert_int_equal(rnic_start_step(&side[RESPONDER], &ev), 0);
		rnic_start_close(&side[INITIATOR]);
		assert_int_equal(rnic_start_step(&side[RESPONDER], &ev),
				 -ECONNRESET);
		end(state);
		begin(state);
	}
	/* Detected when the Request is sent: EPIPE. */
	rnic_start_close(&side[RESPONDER]);
	open_side(INITIATOR, "who");
	assert_int_equal(
		rnic_start_step(&side[INITIATOR], &(struct smpa_event){ 0 }),
		-ECONNRESET);
}

FILE_CASE(an_object_has_a_reference_and_a_timer)
{
	struct rnic_start *start;
	uint64_t ref;

	util_lock(&rnic_loop.lock);
	start = rnic_start_new(sizeof(*start) + 100, RNIC_LOOP_CONN);
	must(start);
	ref = start->ref;
	assert_ptr_equal(rnic_ref_get(&rnic_starts, ref), start);
	assert_false(rnic_timer_runs(&start->timer));
	rnic_timer_start(&start->timer, RNIC_TIMER_CM_STARTING, 0);
	assert_int_equal(rnic_start_fd(start), -1);
	assert_false(rnic_start_is_connected(start));
	rnic_start_free(start);
	assert_null(rnic_ref_get(&rnic_starts, ref));
	assert_int_equal(rnic_timer_cnt(RNIC_TIMER_CM_STARTING), 0);
	util_unlock(&rnic_loop.lock);
}
