/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The state of a link, and waking of threads that wait for it. */
#ifndef SDP_NOTICE_H
#define SDP_NOTICE_H

#include "state.h"

/* Updates the state; @news: bits to report even if they were set before.  Wakes
 * threads that sleep for the link.  The caller holds the link's lock. */
void sdp_notice_update(struct sdp_link *link, unsigned int news);

/* Wakes the threads that sleep for @link, or with NULL one thread that sleeps
 * for any link, to serve the device.  Return: whether a thread was woken. */
bool sdp_notice_wake(struct sdp_dev *dev, struct sdp_link *link);

/* Wakes all threads that sleep for a link, to check again. */
void sdp_notice_wake_all(struct sdp_dev *dev);

/* The descriptor that wakes a thread which sleeps in poll(); -1: none. */
int sdp_notice_fd(void);
void sdp_notice_fd_drain(void);
void sdp_notice_kick(void);

/* When the thread that serves deadlines wakes up by itself. */
void sdp_notice_plan(uint64_t ns);
/* @dev is to be served at @ns. */
void sdp_notice_deadline(struct sdp_dev *dev, uint64_t ns);

void sdp_notice_forget(void);

/* sdp_verbs_end() was called; a thread of the program that was inside stays
 * there, since its link may be gone. */
bool sdp_notice_is_ending(void);
void sdp_notice_stay(void);

#endif
