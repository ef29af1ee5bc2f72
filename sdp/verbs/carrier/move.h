/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Common part of the threads that connect the next carrier of a link. */
#ifndef SDP_VERBS_MOVE_H
#define SDP_VERBS_MOVE_H

#include "verbs/link/state.h"

/* Tries once. Return: 0; -ECONNREFUSED: another try may succeed; -errno. */
typedef int sdp_move_fn(struct sdp_link *link, const struct sockaddr *to,
			uint64_t deadline);

/* Moves the link to a carrier that @try_once makes, or ends it with ECONNRESET.
 * The link may be freed afterwards. */
void sdp_move_run(struct sdp_link *link, sdp_move_fn *try_once);

#endif
