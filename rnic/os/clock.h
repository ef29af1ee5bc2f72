/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The clocks of the RNIC. */
#ifndef USIW_RNIC_CLOCK_H
#define USIW_RNIC_CLOCK_H

#include "util/clock.h"

static inline uint64_t rnic_clock_ns(clockid_t id)
{
	return util_clock_ns(id);
}

static inline uint64_t rnic_now_ns(void)
{
	return util_now_ns();
}

#endif
