/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How threads that wait share the work of polling, and sleep. */
#ifndef SDP_PROGRESS_H
#define SDP_PROGRESS_H

#include "state.h"

/* The progress thread is there.  Return: 0; -EAGAIN ... */
int sdp_progress_start(void);

/*
 * sdp_wait - until one of @what holds, or, if @seen is not NULL, until the
 * link's change counter is no longer *@seen
 *
 * Return: the bits that hold, 0 when something has changed; -ETIMEDOUT;
 * -EINTR.
 */
int sdp_wait(struct sdp_link *link, unsigned int what, const uint32_t *seen,
	     uint64_t deadline);

/* The same, but -EINTR also for a thread that is cancelled. */
int sdp_wait_point(struct sdp_link *link, unsigned int what,
		   const uint32_t *seen, uint64_t deadline);

/* Looks at all devices, then sleeps until @until. */
void sdp_progress_nap(uint64_t until);

void sdp_progress_forget(void);
uint64_t sdp_progress_wakeups(void);

#endif
