/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Faults of USIW_FAULT that come at a time: ports that are down, devices that
 * fail, addresses that change, signals. */
#ifndef RNIC_FAULT_TIME_H
#define RNIC_FAULT_TIME_H

struct rnic_timer;

/* A context was opened.  Takes the loop's lock. */
void rnic_fault_time_start(void);

/* For the loop, locked: one of them is due. */
void rnic_fault_time_expire(struct rnic_timer *timer);

void rnic_fault_time_fork_child(void);

#endif
