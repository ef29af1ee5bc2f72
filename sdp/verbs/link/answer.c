/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See answer.h. */
#include "answer.h"

#include "notice.h"

int link_answer(struct sdp_link *link, enum sdp_call call)
{
	unsigned int holds = link_holds(link);
	int ret;

	if (!(link_state(link) & LINK_STANDS))
		holds |= SDP_HOLDS_NEW;
	ret = sdp_answer_of(call, holds);
	if (ret != SDP_ANSWER_ERROR)
		return ret;
	ret = -link->end.error;
	link->end.error = 0;
	link->end.was_told = true;
	sdp_notice_update(link, 0);
	return ret;
}
