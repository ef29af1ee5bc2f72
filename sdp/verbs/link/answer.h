/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a link answers to a call: tcp-answer.h. */
#ifndef SDP_LINK_ANSWER_H
#define SDP_LINK_ANSWER_H

#include "state.h"

/* Takes the error if that is the answer. The link's lock is held. Return: 0;
 * -errno; SDP_ANSWER_GO. */
int link_answer(struct sdp_link *link, enum sdp_call call);

#endif
