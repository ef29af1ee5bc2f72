/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* How waiting threads share the polling, and how they sleep. */
#ifndef SDP_PROGRESS_H
#define SDP_PROGRESS_H

#include "verbs/link/state.h"

/* Makes sure that the progress thread runs. Return: 0; -EAGAIN ... */
int sdp_progress_start(void);

/* A change counter of a link, and what it was before the caller looked at the
 * link. */
struct sdp_seen {
	const _Atomic uint32_t *cnt;
	uint32_t was;
};

static inline struct sdp_seen sdp_see(const _Atomic uint32_t *cnt)
{
	return (struct sdp_seen){ cnt, atomic_load_explicit(
					       cnt, memory_order_acquire) };
}

/*
 * sdp_wait - wait until one of @what holds, or, if @seen is not NULL, until
 *   that counter has changed
 *
 * Return: the bits that hold; 0: the counter has changed; -ETIMEDOUT; -EINTR.
 */
int sdp_wait(struct sdp_link *link, unsigned int what,
	     const struct sdp_seen *seen, uint64_t deadline);

/* As sdp_wait(), but returns -EINTR for a cancelled thread too. */
int sdp_wait_point(struct sdp_link *link, unsigned int what,
		   const struct sdp_seen *seen, uint64_t deadline);

/* Serves all devices once, then sleeps until @until. */
void sdp_progress_nap(uint64_t until);

void sdp_progress_forget(void);
uint64_t sdp_progress_wakeups(void);

#endif
