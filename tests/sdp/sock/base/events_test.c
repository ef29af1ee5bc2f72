/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The poll(2) events of a socket. */
#include "test.h"

#include <errno.h>
#include <poll.h>

#include "fake-sock.h"
#include "sock/base/events.h"
#include "verbs/sdp-link.h"

/* Events of the socket's link. */

static int link_error;

int sdp_link_error(struct sdp_link *link)
{
	int error = link_error;

	(void)link;
	link_error = 0;
	fake.sdp_link_state.ret &= ~SDP_LINK_ERR;
	return error;
}

/* Only its address is used. */
#define LINK FAKE_LINK

CASE(says_what_the_link_has)
{
	static const struct {
		const char *name;
		unsigned int bits;
		short want;
	} rows[] = {
		{ "nothing", 0, 0 },
		{ "in", SDP_LINK_IN, POLLIN },
		{ "out", SDP_LINK_OUT, POLLOUT },
		{ "urgent", SDP_LINK_PRI, POLLPRI },
		{ "the peer's end", SDP_LINK_RDHUP, POLLIN | POLLRDHUP },
		{ "both ends", SDP_LINK_HUP,
		  POLLIN | POLLOUT | POLLRDHUP | POLLHUP },
		{ "a fault", SDP_LINK_ERR, POLLIN | POLLOUT | POLLERR },
		{ "both ways", SDP_LINK_IN | SDP_LINK_OUT, POLLIN | POLLOUT },
		{ "bits that are no event", SDP_LINK_DRAINED | SDP_LINK_CLOSED,
		  0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_row(rows[i].name,
			   sdp_events_of(rows[i].bits) == rows[i].want);
}

static const struct row {
	const char *name;
	enum sdp_sock_state state;
	bool is_asking, has_link, is_rd_shut, is_wr_shut;
	uint32_t early_len;
	unsigned int bits;
	short want;
	bool is_over;
} rows_of_socks[] = {
	{ "not connected yet", SDP_SOCK_STARTING, true, false, false, false, 0,
	  0, 0, false },
	{ "it starts", SDP_SOCK_STARTING, false, false, false, false, 0, 0,
	  POLLOUT, false },
	{ "its store is full", SDP_SOCK_STARTING, false, false, false, false,
	  SDP_EARLY_MAX, 0, 0, false },
	{ "its store is nearly full", SDP_SOCK_STARTING, false, false, false,
	  false, SDP_EARLY_MAX - 1, 0, POLLOUT, false },
	{ "it starts, and reads no more", SDP_SOCK_STARTING, false, false, true,
	  false, 0, 0, POLLIN | POLLOUT | POLLRDHUP, false },
	{ "it starts, full, and sends no more", SDP_SOCK_STARTING, false, false,
	  false, true, SDP_EARLY_MAX, 0, POLLOUT, false },
	{ "a stream", SDP_SOCK_STREAM, false, true, false, false, 0,
	  SDP_LINK_OUT, POLLOUT, false },
	{ "a stream with octets", SDP_SOCK_STREAM, false, true, false, false, 0,
	  SDP_LINK_IN | SDP_LINK_OUT, POLLIN | POLLOUT, false },
	{ "SHUT_RD", SDP_SOCK_STREAM, false, true, true, false, 0, SDP_LINK_OUT,
	  POLLIN | POLLOUT | POLLRDHUP, false },
	{ "SHUT_WR of a full one", SDP_SOCK_STREAM, false, true, false, true, 0,
	  0, POLLOUT, false },
	{ "SHUT_RDWR", SDP_SOCK_STREAM, false, true, true, true, 0, 0,
	  POLLIN | POLLOUT | POLLRDHUP | POLLHUP, false },
	{ "the peer's end", SDP_SOCK_STREAM, false, true, false, false, 0,
	  SDP_LINK_RDHUP | SDP_LINK_OUT, POLLIN | POLLOUT | POLLRDHUP, false },
	{ "the peer's end after ours", SDP_SOCK_STREAM, false, true, false,
	  true, 0, SDP_LINK_RDHUP, POLLIN | POLLOUT | POLLRDHUP | POLLHUP,
	  false },
	{ "both ends", SDP_SOCK_STREAM, false, true, false, false, 0,
	  SDP_LINK_HUP, POLLIN | POLLOUT | POLLRDHUP | POLLHUP, true },
	{ "a reset", SDP_SOCK_STREAM, false, true, false, false, 0,
	  SDP_LINK_ERR, POLLIN | POLLOUT | POLLERR, true },
	{ "no link any more", SDP_SOCK_STREAM, false, false, false, false, 0, 0,
	  POLLIN | POLLOUT | POLLRDHUP | POLLHUP | POLLERR, true },
};

static void row_check(const struct row *row)
{
	struct sdp_sock sock = {
		.state = row->state,
		.start.is_asking = row->is_asking,
		.link = row->has_link ? LINK : NULL,
		.is_rd_shut = row->is_rd_shut,
		.is_wr_shut = row->is_wr_shut,
		.start.early_len = row->early_len,
	};

	fake.sdp_link_state.ret = row->bits;
	if (sdp_sock_events(&sock) != row->want)
		fail_msg("%s: %#x, not %#x", row->name,
			 (unsigned int)sdp_sock_events(&sock),
			 (unsigned int)row->want);
	assert_row(row->name, sdp_sock_is_over(&sock) == row->is_over);
	assert_row(row->name, sdp_sock_is_stream(&sock));
	sock.relay.is_on = true;
	assert_row(row->name, !sdp_sock_is_stream(&sock));
}

CASE(says_what_the_socket_has)
{
	for (size_t i = 0; i < ARRAY_LEN(rows_of_socks); i++)
		row_check(&rows_of_socks[i]);
}

/* The table of tcp-answer.c has the answers. Here are those to a state. */
CASE(takes_an_error_once)
{
	static const struct {
		const char *name;
		bool has_link, is_wr_shut;
		int error, link_error;
		enum sdp_call call;
		int want, next;
	} rows[] = {
		{ "a link", true, false, 0, 0, SDP_CALL_SEND, SDP_ANSWER_GO,
		  SDP_ANSWER_GO },
		{ "a link's error", true, false, 0, ECONNRESET, SDP_CALL_SEND,
		  -ECONNRESET, -EPIPE },
		{ "after SHUT_WR", true, true, 0, ECONNRESET, SDP_CALL_SEND,
		  -ECONNRESET, -EPIPE },
		{ "to SO_ERROR", true, false, 0, EPIPE, SDP_CALL_SO_ERROR,
		  -EPIPE, 0 },
		{ "not to shutdown()", true, false, 0, EPIPE, SDP_CALL_SHUTDOWN,
		  -ENOTCONN, -ENOTCONN },
		{ "a start's error", false, false, ETIMEDOUT, 0, SDP_CALL_RECV,
		  -ETIMEDOUT, 0 },
		{ "none", false, false, 0, 0, SDP_CALL_RECV, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sdp_sock sock = { .state = SDP_SOCK_STREAM,
					 .link = rows[i].has_link ? LINK : NULL,
					 .is_wr_shut = rows[i].is_wr_shut,
					 .error = rows[i].error };

		link_error = rows[i].link_error;
		fake.sdp_link_state.ret =
			link_error ? SDP_LINK_ERR | SDP_LINK_HUP : 0;
		assert_row(rows[i].name, sdp_sock_answer(&sock, rows[i].call) ==
						 rows[i].want);
		assert_row(rows[i].name, sdp_sock_answer(&sock, rows[i].call) ==
						 rows[i].next);
	}
	/* The state shows an error that another thread has taken. */
	link_error = 0;
	fake.sdp_link_state.ret = SDP_LINK_ERR | SDP_LINK_HUP;
	assert_int_equal(
		sdp_sock_answer(&(struct sdp_sock){ .state = SDP_SOCK_STREAM,
						    .link = LINK },
				SDP_CALL_SEND),
		-EPIPE);
}

CASE(an_end_is_told_again)
{
	static const struct {
		const char *name;
		enum sdp_sock_state state;
		bool has_link;
		int error, want;
	} rows[] = {
		{ "of a link", SDP_SOCK_STREAM, true, ECONNRESET, 0 },
		{ "without a link", SDP_SOCK_STREAM, false, ECONNRESET,
		  ECONNRESET },
		{ "by the network", SDP_SOCK_STREAM, false, EHOSTUNREACH,
		  EHOSTUNREACH },
		{ "no end", SDP_SOCK_STREAM, false, EAGAIN, 0 },
		{ "of TCP", SDP_SOCK_TCP, false, ECONNRESET, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sdp_sock sock = { .state = rows[i].state,
					 .link = rows[i].has_link ? LINK
								  : NULL };

		fake.sdp_link_tell_again.cnt = 0;
		sdp_sock_tell_again(&sock, rows[i].error);
		assert_row(rows[i].name,
			   atomic_load(&sock.error) == rows[i].want);
		assert_row(rows[i].name,
			   fake.sdp_link_tell_again.cnt == rows[i].has_link);
	}
}

CASE(leaves_other_states_to_the_kernel)
{
	static const enum sdp_sock_state states[] = {
		SDP_SOCK_TCP,
		SDP_SOCK_LISTENING,
		SDP_SOCK_PENDING,
		SDP_SOCK_RELAY,
	};

	for (size_t i = 0; i < ARRAY_LEN(states); i++) {
		struct sdp_sock sock = { .state = states[i] };

		assert_false(sdp_sock_is_stream(&sock));
		assert_false(sdp_sock_is_over(&sock));
	}
}
