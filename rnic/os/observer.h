/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Commands that observe this process: usiw trace, usiw capture. rnic-observer.h
 * has how a record is written.
 */
#ifndef RNIC_OBSERVER_H
#define RNIC_OBSERVER_H

#include "os/rnic-observer.h"
#include "stat.h"

/* Does a command want records of this kind?  Any thread. */
static inline bool rnic_observed(enum usiw_observe kind)
{
	/* relaxed: a hook that sees it late loses a record */
	return __builtin_expect(
		atomic_load_explicit(&rnic_stat_memory.page.observed.wanted,
				     memory_order_relaxed) &
			1u << kind,
		0);
}

/* The longest payload that the command wants of what is observed; 0: none
 * observes. */
uint32_t rnic_observer_snap_len(enum usiw_observe kind);

/* Makes the counter page, and begins what USIW_OBSERVE asks for.  Called when
 * the first context or channel of rdma_cm is opened; once is enough. */
void rnic_observer_start(void);

void rnic_observer_fork_child(void);

#endif
