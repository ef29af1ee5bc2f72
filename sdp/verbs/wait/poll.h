/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Polling a device: completions, events, deadlines, ends of links. */
#ifndef SDP_POLL_H
#define SDP_POLL_H

#include "verbs/link/state.h"

/* Makes one pass. poll_lock is held. Return: number of completions. */
int sdp_poll(struct sdp_dev *dev);

/* As sdp_poll(), but returns -EBUSY if another thread is in a pass. */
int sdp_poll_try(struct sdp_dev *dev);

/* Whether a thread makes a pass now. */
bool sdp_poll_is_busy(struct sdp_dev *dev);

/* Polls until nothing is left. Waits for another thread's pass. */
void sdp_poll_drain(struct sdp_dev *dev);

/* Requests an event on the device's channel for the next completion. Call
 * sdp_poll_disarm() afterwards.
 * @ret_cq_fd: NULL: ibv_req_notify_cq() arms the CQ. Else
 *   usiwdv_cq_sleep_begin() arms it, and this is its descriptor; or -1 if there
 *   is none, and the CQ is armed as without.
 * Return: 0: a thread may sleep; -EAGAIN: a completion came. */
int sdp_poll_arm(struct sdp_dev *dev, int *ret_cq_fd);
void sdp_poll_disarm(struct sdp_dev *dev);

/* The event was consumed or cancelled: arms again if other threads rely on
 * it. */
void sdp_poll_rearm(struct sdp_dev *dev);

/* Bits for readable descriptors. */
#define SDP_POLL_CQ 0x1u    /* the completion channel's */
#define SDP_POLL_ASYNC 0x2u /* the context's */
#define SDP_POLL_CM 0x4u    /* sdp_cm_chan_fd() */
#define SDP_POLL_ALL 0x7u

/* Handles what made the descriptors readable, and all completions. poll_lock is
 * held. */
void sdp_poll_events(struct sdp_dev *dev, unsigned int which);

/* Into the table of links by QP number. poll_lock is held. */
void sdp_poll_add(struct sdp_dev *dev, struct sdp_link *link);

/* Frees a link that has no references. */
void sdp_poll_free(struct sdp_link *link);
/* The rest of it, if sdp_links_let_go() says so. */
void sdp_poll_free_memory(struct sdp_link *link);

#endif
