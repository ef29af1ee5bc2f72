/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Event channels of rdma_cm, and the channel that the identities of established
 * links share. */
#ifndef SDP_CM_CHAN_H
#define SDP_CM_CHAN_H

#include "verbs/link/state.h"

/* Makes a non-blocking channel with a high descriptor. Return: NULL, errno. */
struct rdma_event_channel *sdp_cm_chan_new(void);
void sdp_cm_chan_free(struct rdma_event_channel *ch);

/* Moves the link's identity to the shared channel, which the first such link
 * creates. Return: 0; -errno. */
int sdp_cm_chan_adopt(struct sdp_link *link);

/* Descriptor of the shared channel; -1: there is none. */
int sdp_cm_chan_fd(void);

/* Handles disconnects. */
void sdp_cm_chan_serve(void);

void sdp_cm_chan_forget(void);

#endif
