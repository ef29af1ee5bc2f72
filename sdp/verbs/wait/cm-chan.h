/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Event channels of rdma_cm, and the channel that the identities of established
 * links share. */
#ifndef SDP_CM_CHAN_H
#define SDP_CM_CHAN_H

#include "verbs/link/state.h"

/* Makes a non-blocking channel with a high descriptor. Return: NULL, errno. */
struct rdma_event_channel *sdp_cm_chan_new(void);

/* The shared channel. The first link by rdma_cm creates it. Return: NULL,
 * errno. */
struct rdma_event_channel *sdp_cm_chan_get(void);

/* Descriptor of the shared channel; -1: there is none. */
int sdp_cm_chan_fd(void);

/* Handles disconnects. poll_lock of @dev is held. */
void sdp_cm_chan_serve(struct sdp_dev *dev);

void sdp_cm_chan_forget(void);

#endif
