/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the carriers' threads have in common that make a link's next one. */
#ifndef SDP_VERBS_MOVE_H
#define SDP_VERBS_MOVE_H

#include "state.h"

/* One try.  Return: 0; -ECONNREFUSED: another one may do better; -errno. */
typedef int sdp_move_fn(struct sdp_link *link, const struct sockaddr *to,
			uint64_t deadline);

/* The link goes over to a carrier that @try_once makes, or ends with
 * ECONNRESET.  It may be freed afterwards. */
void sdp_move_run(struct sdp_link *link, sdp_move_fn *try_once);

#endif
