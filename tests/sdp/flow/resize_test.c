/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Resizing: the requester's limit, the responder's answer, refusals, crossing
 * requests.
 */
#include "test.h"

#include <errno.h>
#include <stdbool.h>

#include "flow/resize.h"

static struct sdp_resize make(uint32_t own, uint32_t peer)
{
	struct sdp_resize r;

	sdp_resize_init(&r, own);
	sdp_resize_on_hello(&r, peer);
	return r;
}

/* T22 */
CASE(limits_payload_by_the_peers_size)
{
	struct sdp_resize r = make(100, 37);

	assert_int_equal(sdp_resize_payload_max(&r, SDP_MID_DATA), 21);
	assert_int_equal(sdp_resize_payload_max(&r, SDP_MID_SRC_AVAIL), 5);
	assert_int_equal(sdp_resize_payload_max(&r, SDP_MID_SINK_AVAIL), 1);
}

/* T41, T42: the answers of part 4's table, and the limit before and after. */
CASE(uses_sizes_as_the_table_says)
{
	static const struct {
		const char *name;
		uint32_t asked, before, ack;
		enum sdp_fault fault;
		uint32_t after;
		int again; /* result of asking for the same direction again */
	} rows[] = {
		{ "smaller, as asked", 50, 50, 50, 0, 50, 0 },
		{ "smaller, half way", 50, 50, 80, 0, 80, 0 },
		{ "smaller, refused", 50, 50, 100, 0, 100, -EPERM },
		{ "smaller, below", 50, 50, 49, SDP_FAULT_RESIZE, 50, 0 },
		{ "smaller, but larger", 50, 50, 101, SDP_FAULT_RESIZE, 50, 0 },
		{ "larger, as asked", 500, 100, 500, 0, 500, 0 },
		{ "larger, more", 500, 100, 512, 0, 512, 0 },
		{ "larger, less", 500, 100, 300, 0, 300, 0 },
		{ "larger, refused", 500, 100, 100, 0, 100, -EPERM },
		{ "larger, but smaller", 500, 100, 99, SDP_FAULT_RESIZE, 100,
		  0 },
		{ "larger, too large", 500, 100, 0x80000001, SDP_FAULT_RESIZE,
		  100, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sdp_resize r = make(100, 100);
		uint32_t next = rows[i].asked > 100 ? 0x10000 : 40;

		assert_row(rows[i].name,
			   !sdp_resize_may_ask(&r, rows[i].asked));
		sdp_resize_sent_request(&r, rows[i].asked);
		assert_row(rows[i].name, r.peer_size == rows[i].before);
		assert_row(rows[i].name, sdp_resize_may_ask(&r, 40) == -EBUSY);
		assert_row(rows[i].name,
			   sdp_resize_on_ack(&r, rows[i].ack) == rows[i].fault);
		assert_row(rows[i].name, r.peer_size == rows[i].after);
		if (!rows[i].fault)
			assert_row(rows[i].name, sdp_resize_may_ask(&r, next) ==
							 rows[i].again);
	}
}

CASE(refuses_invalid_sizes)
{
	struct sdp_resize r = make(100, 100);

	assert_int_equal(sdp_resize_may_ask(&r, 36), -EINVAL);
	assert_int_equal(sdp_resize_may_ask(&r, 100), -EINVAL);
	assert_int_equal(sdp_resize_may_ask(&r, 0x80000001), -EINVAL);
}

/* T45 */
CASE(refuses_an_answer_without_request)
{
	struct sdp_resize r = make(100, 100);

	assert_int_equal(sdp_resize_on_ack(&r, 100), SDP_FAULT_RESIZE);
}

/* SDP-127, SDP-128: an enlargement waits for every old receive, including the
 * spare. */
CASE(answers_after_the_old_receives)
{
	struct sdp_resize r = make(100, 100);

	assert_int_equal(sdp_resize_on_request(&r, 500, true), 0);
	assert_true(r.is_wanted && r.wanted == 500);
	sdp_resize_decide(&r, 500, 4);
	assert_int_equal(r.new_size, 500);
	for (int i = 0; i < 4; i++) {
		assert_false(sdp_resize_is_ack_due(&r));
		assert_int_equal(r.own_size, 100); /* SDP-130 */
		sdp_resize_used(&r);
	}
	assert_true(sdp_resize_is_ack_due(&r));
	sdp_resize_sent_ack(&r);
	assert_int_equal(r.own_size, 500);
	assert_false(sdp_resize_is_ack_due(&r));
}

/* SDP-124, SDP-125, SDP-129, C25 */
CASE(keeps_the_answer_in_range)
{
	static const struct {
		const char *name;
		uint32_t request, decided, answer;
	} rows[] = {
		{ "smaller", 50, 50, 50 },
		{ "smaller, below", 50, 10, 50 },
		{ "smaller, above", 50, 200, 100 },
		{ "smaller than the smallest", 5, 1, 37 },
		{ "larger, cannot", 500, 100, 100 },
		{ "larger, shrinks", 500, 50, 100 },
		{ "larger, rounds up", 500, 512, 512 },
		{ "the same", 100, 500, 100 },
		{ "too large", 0x80000001, 500, 100 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sdp_resize r = make(100, 100);

		assert_row(rows[i].name,
			   !sdp_resize_on_request(&r, rows[i].request, true));
		sdp_resize_decide(&r, rows[i].decided, 0);
		assert_row(rows[i].name, r.new_size == rows[i].answer);
	}
}

/* T44, SDP-133, C25 */
CASE(resolves_crossing_requests_by_role)
{
	struct sdp_resize r = make(100, 100);

	sdp_resize_sent_request(&r, 50);
	assert_int_equal(sdp_resize_on_request(&r, 500, true), 0);
	assert_false(r.is_wanted); /* accepting: ignored */
	assert_int_equal(sdp_resize_on_ack(&r, 50), 0);
	r = make(100, 100);
	sdp_resize_sent_request(&r, 50);
	assert_int_equal(sdp_resize_on_request(&r, 500, false), 0);
	assert_true(
		r.is_wanted); /* connecting: answered, and its own is void */
	assert_int_equal(r.peer_size, 100);
}

CASE(refuses_a_second_request)
{
	struct sdp_resize r = make(100, 100);

	assert_int_equal(sdp_resize_on_request(&r, 500, true), 0);
	assert_int_equal(sdp_resize_on_request(&r, 500, true),
			 SDP_FAULT_RESIZE);
}
