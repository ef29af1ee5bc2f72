/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Modes: Figure 25, and every possible and impossible transition.
 */
#include "test.h"

#include <limits.h>
#include <stdbool.h>

#include "flow/mode.h"

#define MANY UINT_MAX
#define B SDP_MODE_BUFFERED
#define C SDP_MODE_COMBINED
#define P SDP_MODE_PIPELINED

/* Figure 25: what host A may do, by the modes of A to B and B to A. */
static const struct {
	enum sdp_mode ab, ba;
	bool read, write;
	unsigned int send_src, accept_src;
	bool send_sink, accept_sink;
} figure[] = {
	{ B, B, false, false, 0, 0, false, false },
	{ B, C, true, false, 0, 1, false, false },
	{ B, P, true, false, 0, MANY, true, false },
	{ C, B, false, false, 1, 0, false, false },
	{ C, C, true, false, 1, 1, false, false },
	{ C, P, true, false, 1, MANY, true, false },
	{ P, B, false, true, MANY, 0, false, true },
	{ P, C, true, true, MANY, 1, false, true },
	{ P, P, true, true, MANY, MANY, true, true },
};

CASE(allows_what_figure_25_allows)
{
	for (size_t i = 0; i < ARRAY_LEN(figure); i++) {
		assert_int_equal(sdp_mode_src_avail_max(figure[i].ab),
				 figure[i].send_src);
		assert_int_equal(sdp_mode_src_avail_max(figure[i].ba),
				 figure[i].accept_src);
		assert_int_equal(sdp_mode_src_avail_max(figure[i].ba) > 0,
				 figure[i].read);
		assert_int_equal(sdp_mode_has_sink_avail(figure[i].ab),
				 figure[i].write);
		assert_int_equal(sdp_mode_has_sink_avail(figure[i].ab),
				 figure[i].accept_sink);
		assert_int_equal(sdp_mode_has_sink_avail(figure[i].ba),
				 figure[i].send_sink);
	}
}

/* T46 */
CASE(requires_payload_in_combined_only)
{
	assert_true(sdp_mode_has_inline(C));
	assert_false(sdp_mode_has_inline(P));
}

/* T56 */
CASE(accepts_four_transitions)
{
	unsigned int cnt = 0;

	for (int from = 0; from < 3; from++) {
		for (int to = 0; to < 3; to++) {
			for (int src = 0; src < 2; src++)
				cnt += sdp_mode_may_change((enum sdp_mode)from,
							   (enum sdp_mode)to,
							   src);
		}
	}
	assert_int_equal(cnt, 4);
	assert_true(sdp_mode_may_change(C, B, true));
	assert_true(sdp_mode_may_change(B, C, false));
	assert_true(sdp_mode_may_change(C, P, true));
	assert_true(sdp_mode_may_change(P, C, true));
}
