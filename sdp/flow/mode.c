/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The two tables of modes.
 */
#include "flow/mode.h"

#include <limits.h>

unsigned int sdp_mode_src_avail_max(enum sdp_mode mode)
{
	switch (mode) {
	case SDP_MODE_BUFFERED:
		return 0;
	case SDP_MODE_COMBINED:
		return 1;
	case SDP_MODE_PIPELINED:
		return UINT_MAX;
	}
	return 0;
}

bool sdp_mode_has_sink_avail(enum sdp_mode mode)
{
	return mode == SDP_MODE_PIPELINED;
}

bool sdp_mode_has_inline(enum sdp_mode mode)
{
	return mode == SDP_MODE_COMBINED;
}

bool sdp_mode_may_change(enum sdp_mode from, enum sdp_mode to, bool by_source)
{
	if (from == SDP_MODE_BUFFERED)
		return to == SDP_MODE_COMBINED && !by_source;
	if (from == SDP_MODE_COMBINED)
		return to != SDP_MODE_COMBINED && by_source;
	return to == SDP_MODE_COMBINED && by_source;
}
