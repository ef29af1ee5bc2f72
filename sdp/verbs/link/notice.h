/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The state of a link, and the threads that wait for it. */
#ifndef SDP_NOTICE_H
#define SDP_NOTICE_H

#include "state.h"

/* Updates the state; @news: bits to report even if they were set before.  Wakes
 * threads that sleep for the link.  The caller holds the link's lock. */
void sdp_notice_update(struct sdp_link *link, unsigned int news);

/* Wakes the threads that sleep for @link. With NULL, wakes one thread that
 * sleeps for any link, so that it serves the device. Return: whether a thread
 * was woken. */
bool sdp_notice_wake(struct sdp_dev *dev, struct sdp_link *link);

/* Wakes all threads that sleep for a link, to check again. */
void sdp_notice_wake_all(struct sdp_dev *dev);

/* The descriptor that wakes a thread which sleeps in poll(); -1: none. */
int sdp_notice_fd(void);
void sdp_notice_fd_drain(void);
void sdp_notice_kick(void);

/* The time at which the thread that serves deadlines wakes up by itself. */
void sdp_notice_plan(uint64_t ns);
/* @dev must be served at @ns. */
void sdp_notice_deadline(struct sdp_dev *dev, uint64_t ns);

void sdp_notice_forget(void);

/* sdp_verbs_end() was called. Threads of the program that are inside a call
 * stay there, because their links may be freed. */
bool sdp_notice_is_ending(void);
void sdp_notice_stay(void);

#endif
