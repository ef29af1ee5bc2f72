/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which resources a filter takes. */
#include "test.h"

#include <string.h>
#include <sys/socket.h>

#include "stat/filter.h"

CASE(a_peer_is_an_address_with_or_without_port)
{
	static const struct {
		const char *peer, *text;
		bool is_taken;
	} rows[] = {
		{ "192.0.2.1", "192.0.2.1:80", true },
		{ "192.0.2.1:80", "192.0.2.1:80", true },
		{ "192.0.2.1:8", "192.0.2.1:80", false },
		{ "192.0.2.1", "192.0.2.10:80", false },
		{ "192.0.2", "192.0.2.1:80", false },
		{ "2001:db8::1", "[2001:db8::1]:80", true },
		{ "[2001:db8::1]:80", "[2001:db8::1]:80", true },
		{ "2001:db8::1", "[2001:db8::1:2]:80", false },
		{ "2001:db8", "[2001:db8::1]:80", false },
		{ "fe80::1", "[fe80::1%2]:80", true },
		{ "fe80::1%2", "[fe80::1%2]:80", true },
		{ "", "192.0.2.1:80", false },
		{ "[", "[::1]:80", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct filter filter = { .peer = rows[i].peer };

		if (filter_takes_peer(&filter, rows[i].text) !=
		    rows[i].is_taken)
			fail_msg("%s, %s", rows[i].peer, rows[i].text);
	}
}

static bool has(const struct filter *filter, enum usiw_res_kind kind)
{
	return filter_has_kind(filter, fields_of(kind));
}

CASE(kinds_without_the_property_are_left_out)
{
	const struct filter all = { .device = NULL },
			    in_state = { .state = "x" },
			    qp = { .has_qp = true }, peer = { .peer = "x" },
			    device = { .device = "x" },
			    sdp = { .wants_sdp = true };
	struct filter mrs = { .device = "x" };

	mrs.is_selected[fields_of(USIW_RES_MR) - fields_kinds] = true;
	assert_false(filter_is_narrow(&all));
	assert_true(filter_is_narrow(&sdp));
	for (int kind = 1; kind < USIW_RES_KIND_CNT; kind++) {
		bool is_conn = kind == USIW_RES_QP || kind == USIW_RES_ID;

		assert_true(has(&all, kind));
		assert_true(has(&device, kind));
		assert_int_equal(has(&in_state, kind), is_conn);
		assert_int_equal(has(&qp, kind), is_conn);
		assert_int_equal(has(&peer, kind), is_conn);
		assert_int_equal(has(&mrs, kind), kind == USIW_RES_MR);
		assert_false(has(&sdp, kind));
	}
}

CASE(takes_a_queue_pair_by_each_property)
{
	struct usiw_res_device device = { .head = { .id = 1 },
					  .name = "usiw_lo" };
	struct usiw_res_context ctx = { .head = { .id = 2 }, .device = 1 };
	struct usiw_res_qp qp = {
		.head = { .id = 77 },
		.context = 2,
		.state = USIW_RES_QPS_RTS,
		.peer = { .family = AF_INET,
			  .port = 9,
			  .addr = { 127, 0, 0, 1 } },
	};
	struct row device_row = { .head = &device.head };
	struct row ctx_row = { .head = &ctx.head };
	const struct view view = { .devices = { .cnt = 1, .at = &device_row },
				   .contexts = { .cnt = 1, .at = &ctx_row } };
	const struct filter right = { .device = "usiw_lo",
				      .state = "rts",
				      .peer = "127.0.0.1",
				      .has_qp = true,
				      .qp = 77 };
	const struct filter wrong[] = {
		{ .device = "usiw_eth0" },
		{ .state = "idle" },
		{ .peer = "127.0.0.2" },
		{ .has_qp = true, .qp = 78 },
	};
	const struct kind *kind = fields_of(USIW_RES_QP);

	assert_true(filter_takes(&right, kind, &view, &qp));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(filter_takes(&wrong[i], kind, &view, &qp));
	/* Its context has gone. */
	qp.context = 3;
	assert_false(filter_takes(&right, kind, &view, &qp));
}
