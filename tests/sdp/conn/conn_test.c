/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The connection object: options and memory.
 */
#include "test.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "sdpscript.h"

static const struct {
	const char *name;
	struct sdp_options opt;
	int ret;
} rows[] = {
	{ "defaults", { .bufs = 0 }, 0 },
	{ "smallest", { .bufs = 3, .buf_size = 37 }, 0 },
	{ "two buffers", { .bufs = 2 }, -EINVAL },
	{ "too many buffers", { .bufs = 65536 }, -EINVAL },
	{ "buffers too small", { .buf_size = 36 }, -EINVAL },
	{ "buffers too large", { .buf_size = 0x80000001 }, -EINVAL },
	{ "shrinking maximum",
	  { .buf_size = 100, .buf_size_max = 99 },
	  -EINVAL },
	{ "role", { .role = 2 }, -EINVAL },
	{ "carrier", { .carrier = 3 }, -EINVAL },
	{ "layout", { .layout = 2 }, -EINVAL },
};

CASE(checks_options)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sdp_conn *conn = NULL;

		assert_row(rows[i].name,
			   sdp_conn_new(&conn, &rows[i].opt) == rows[i].ret);
		assert_row(rows[i].name, !conn == !!rows[i].ret);
		sdp_conn_free(conn);
	}
}

/* One allocation, small enough for thousands of idle connections. */
CASE(is_small)
{
	struct sdp_options opt = SDP_OPTIONS_INIT;
	struct sdp_conn *conn;

	assert_int_equal(sdp_conn_new(&conn, &opt), 0);
	assert_true(malloc_usable_size(conn) <= 10 * 1024);
	sdp_conn_free(conn);
}

/* SDP-29: far more receives than three. */
CASE(posts_many_receives)
{
	struct sdp_options opt = SDP_OPTIONS_INIT;
	struct sdp_conn *conn;
	struct sdp_work work;

	assert_int_equal(sdp_conn_new(&conn, &opt), 0);
	assert_int_equal(sdp_conn_start(conn, 0), 0);
	assert_int_equal(sdp_conn_next_work(conn, &work), 1);
	assert_int_equal(work.type, SDP_WORK_POST);
	assert_int_equal(work.post.cnt, 33); /* one is the spare */
	assert_int_equal(work.post.size, 16384);
	sdp_conn_free(conn);
}

CASE(is_at_rest_before_start)
{
	struct sdp_options opt = script_options(SDP_CONNECTING);
	struct sdp_conn *conn;
	struct sdp_work work;
	struct sdp_event ev;

	assert_int_equal(sdp_conn_new(&conn, &opt), 0);
	assert_int_equal(sdp_conn_next_work(conn, &work), 0);
	assert_int_equal(sdp_conn_next_event(conn, &ev), 0);
	assert_true(sdp_conn_deadline(conn) == SDP_NEVER);
	assert_int_equal(sdp_conn_send_room(conn), 0);
	assert_int_equal(sdp_conn_send_mode(conn), SDP_MODE_COMBINED);
	assert_int_equal(sdp_conn_recv_mode(conn), SDP_MODE_COMBINED);
	assert_int_equal(sdp_conn_start(conn, 0), 0);
	assert_int_equal(sdp_conn_start(conn, 0), -EINVAL);
	sdp_conn_free(conn);
	sdp_conn_free(NULL);
}

CASE(names_every_fault)
{
	for (int i = 0; i <= SDP_FAULT_MOVE; i++)
		assert_true(strlen(sdp_fault_str((enum sdp_fault)i)) > 1);
	assert_string_equal(sdp_fault_str((enum sdp_fault)99), "?");
}
