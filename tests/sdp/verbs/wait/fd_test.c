/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What ends the wait of a start. */
#include "test.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "verbs/sdp-link.h"
#include "verbs/wait/fd.h"

uint64_t sdp_now_ns(void)
{
	return 1000;
}

CASE(ends_by_the_descriptor_or_the_stop)
{
	static const struct {
		const char *name;
		bool has_octet, has_stop, is_stopped;
		uint64_t deadline;
		int want;
	} rows[] = {
		{ "an octet", true, false, false, UINT64_MAX, 0 },
		{ "an octet, a stop to come", true, true, false, UINT64_MAX,
		  0 },
		{ "an octet and a stop", true, true, true, UINT64_MAX, 0 },
		{ "a stop", false, true, true, UINT64_MAX, -ECANCELED },
		{ "1 ms", false, true, false, 2000, 0 },
		{ "no time", true, false, false, 1000, -ETIMEDOUT },
		{ "no time, a stop", false, true, true, 1000, -ETIMEDOUT },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int octets[2], stop[2];

		assert_int_equal(pipe(octets), 0);
		assert_int_equal(pipe(stop), 0);
		if (rows[i].has_octet)
			assert_int_equal(write(octets[1], "x", 1), 1);
		if (rows[i].is_stopped)
			assert_int_equal(write(stop[1], "x", 1), 1);
		assert_row(rows[i].name,
			   sdp_wait_fd(octets[0], POLLIN,
				       rows[i].has_stop ? stop[0] : -1,
				       rows[i].deadline) == rows[i].want);
		for (int j = 0; j < 2; j++) {
			close(octets[j]);
			close(stop[j]);
		}
	}
}
