/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Event channels of rdma_cm, and the channel of identities with established
 * links. */
#ifndef SDP_CM_CHAN_H
#define SDP_CM_CHAN_H

#include "state.h"

/* One that does not block, with a high descriptor.  Return: NULL, errno. */
struct rdma_event_channel *sdp_cm_chan_new(void);

/* Made with the first link by rdma_cm.  Return: NULL, errno. */
struct rdma_event_channel *sdp_cm_chan_get(void);

/* -1: there is none. */
int sdp_cm_chan_fd(void);

/* Ends of connections; poll_lock of @dev is held. */
void sdp_cm_chan_serve(struct sdp_dev *dev);

void sdp_cm_chan_forget(void);

#endif
