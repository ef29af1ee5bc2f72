/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Polling a device: completions, events, deadlines, ends of links. */
#ifndef SDP_POLL_H
#define SDP_POLL_H

#include "state.h"

/* One pass.  poll_lock is held.  Return: completions. */
int sdp_poll(struct sdp_dev *dev);

/* The same if no other thread is in a pass; else 0. */
int sdp_poll_try(struct sdp_dev *dev);

/* Until nothing more is there; waits for another thread's pass. */
void sdp_poll_drain(struct sdp_dev *dev);

/* The next completion is to make an event on the device's channel, until
 * sdp_poll_disarm().  Return: 0: a thread may sleep; -EAGAIN: something
 * came. */
int sdp_poll_arm(struct sdp_dev *dev);
void sdp_poll_disarm(struct sdp_dev *dev);

/* The arming was used up, or taken back: others may count on it. */
void sdp_poll_rearm(struct sdp_dev *dev);

/* Which descriptors are readable. */
#define SDP_POLL_CQ 0x1u    /* the completion channel's */
#define SDP_POLL_ASYNC 0x2u /* the context's */
#define SDP_POLL_CM 0x4u    /* sdp_cm_chan_fd() */
#define SDP_POLL_ALL 0x7u

/* Takes what made descriptors readable, and all completions.  poll_lock is
 * held. */
void sdp_poll_events(struct sdp_dev *dev, unsigned int which);

/* Links by QP number.  poll_lock is held. */
void sdp_poll_add(struct sdp_dev *dev, struct sdp_link *link);
void sdp_poll_remove(struct sdp_dev *dev, struct sdp_link *link);

/* Takes down the carrier of a link; poll_lock and the link's lock are held.
 * sdp_drive() is due. */
void sdp_poll_take_down(struct sdp_link *link);

/* Frees a link without references. */
void sdp_poll_free(struct sdp_link *link);

#endif
