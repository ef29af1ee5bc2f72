/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Functions of sdp/verbs that every file needs: the time, and the library's
 * threads. */
#include <time.h>

#include "verbs/sdp-link.h"

uint64_t sdp_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void sdp_verbs_own_thread(void)
{
}
