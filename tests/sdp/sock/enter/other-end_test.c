/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who is asked for the other end of a connection, and what an answer means. */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "addr.h"
#include "pm/pm-client.h"
#include "pm/registry.h"
#include "sock/enter/other-end.h"

static struct {
	int registry, mapper; /* what they return */
	enum sdp_pm_outcome outcome;
	const char *address; /* of the answer */
} answer;
static int asked_cnt;

int sdp_registry_find_end(const struct sockaddr *own,
			  const struct sockaddr *peer, uint16_t *ret_sdp_port)
{
	*ret_sdp_port = 11;
	return answer.registry;
}

int sdp_pm_query(const struct sockaddr *peer, const struct sockaddr *local,
		 const struct sdp_pm_options *options, int stop_fd,
		 struct sdp_pm_result *ret_result)
{
	asked_cnt++;
	assert_true(options->is_connection);
	/* 150 and 300 ms */
	assert_int_equal(options->send_cnt * options->timeout_ms, 300);
	ret_result->outcome = answer.outcome;
	if (answer.address)
		ret_result->sdp = test_addr(answer.address, 22);
	return answer.mapper;
}

CASE(asks_the_host_of_the_other_end)
{
	static const struct {
		const char *name;
		int registry, mapper;
		enum sdp_pm_outcome outcome;
		const char *address;
		int want, want_port, want_asked;
	} rows[] = {
		{ "this host", .want_port = 11 },
		{ "not announced", -ENOENT, .want = -ENOENT },
		{ "no descriptor", -EMFILE, .want = -EMFILE },
		{ "another host", -ENOTCONN, 0, SDP_PM_MAPPED, "192.0.2.1", 0,
		  22, 1 },
		{ "the same address, mapped", -ENOTCONN, 0, SDP_PM_MAPPED,
		  "::ffff:192.0.2.1", 0, 22, 1 },
		{ "a third host", -ENOTCONN, 0, SDP_PM_MAPPED, "192.0.2.3",
		  -ENOENT, 0, 1 },
		{ "denied", -ENOTCONN, 0, SDP_PM_DENIED, NULL, -ENOENT, 0, 1 },
		{ "no answer", -ENOTCONN, 0, SDP_PM_NO_ANSWER, NULL,
		  -EADDRNOTAVAIL, 0, 1 },
		{ "cannot ask", -ENOTCONN, -ENETUNREACH, SDP_PM_NO_ANSWER, NULL,
		  -ENETUNREACH, 0, 1 },
	};
	struct sockaddr_storage own = test_addr("192.0.2.2", 40000);
	struct sockaddr_storage peer = test_addr("192.0.2.1", 80);
	union sdp_addr names[] = { sdp_addr_of(&own), sdp_addr_of(&peer) };
	uint16_t port;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		answer.registry = rows[i].registry;
		answer.mapper = rows[i].mapper;
		answer.outcome = rows[i].outcome;
		answer.address = rows[i].address;
		asked_cnt = 0;
		assert_row(rows[i].name,
			   sdp_other_end_find(&names[0], &names[1], &port) ==
				   rows[i].want);
		assert_row(rows[i].name,
			   rows[i].want < 0 || port == rows[i].want_port);
		assert_row(rows[i].name, asked_cnt == rows[i].want_asked);
	}
}
