/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The connection manager's lists, also in a forked child, and the state of its
 * identities. */
#include "state.h"

#include <string.h>

struct cm_manager cm;

void cm_id_set_state(struct cm_id *id, cm_state state)
{
	id->state = state;
}

/* What else the parent had is left where it lies. */
void cm_state_reset(bool keeps_chans)
{
	const struct cm_chan_list chans = cm.chans;

	memset(&cm, 0, sizeof(cm));
	if (keeps_chans)
		cm.chans = chans;
}
