/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The connection manager's lists, also in a forked child, and the state of its
 * identities. */
#include "state.h"

#include <string.h>

struct cm_manager cm = {
	.asking = TAILQ_HEAD_INITIALIZER(cm.asking),
	.refused = TAILQ_HEAD_INITIALIZER(cm.refused),
	.starting = TAILQ_HEAD_INITIALIZER(cm.starting),
	.asked = TAILQ_HEAD_INITIALIZER(cm.asked),
	.answered = TAILQ_HEAD_INITIALIZER(cm.answered),
	.rejected = TAILQ_HEAD_INITIALIZER(cm.rejected),
	.closing = TAILQ_HEAD_INITIALIZER(cm.closing),
	.paused = TAILQ_HEAD_INITIALIZER(cm.paused),
	.unread = TAILQ_HEAD_INITIALIZER(cm.unread),
	.timewait = TAILQ_HEAD_INITIALIZER(cm.timewait),
};

void cm_id_set_state(struct cm_id *id, cm_state state)
{
	id->state = state;
}

/* What else the parent had is left where it lies. */
void cm_state_reset(bool keeps_chans)
{
	const struct cm_chan_list chans = cm.chans;

	memset(&cm, 0, sizeof(cm));
	TAILQ_INIT(&cm.asking);
	TAILQ_INIT(&cm.refused);
	TAILQ_INIT(&cm.starting);
	TAILQ_INIT(&cm.asked);
	TAILQ_INIT(&cm.answered);
	TAILQ_INIT(&cm.rejected);
	TAILQ_INIT(&cm.closing);
	TAILQ_INIT(&cm.paused);
	TAILQ_INIT(&cm.unread);
	TAILQ_INIT(&cm.timewait);
	if (keeps_chans)
		cm.chans = chans;
}
