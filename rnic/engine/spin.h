/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The completion thread looks for more octets before it sleeps: a thread that
 * sleeps takes longer to wake up than most answers take to come.  It does so
 * for USIW_SPIN_US if a CPU is idle.  On a busy machine it does so for some
 * microseconds, and only if the program has posted nothing for a while: one
 * that posts needs the CPU for its own answer.
 */
#ifndef RNIC_ENGINE_SPIN_H
#define RNIC_ENGINE_SPIN_H

#include <sys/epoll.h>

#include "engine.h"
#include "os/cpus.h"

/* Of the completion thread; zero at first, except cpu_cnt. */
struct rnic_spin {
	uint32_t cpu_cnt; /* that it may use, wherever it runs now */
	struct rnic_cpus cpus;
	bool has_cpus;
	uint32_t arrival_no; /* of the engine, when it looked last */
	uint32_t skip_cnt;   /* it does not spin so many times */
	uint32_t gap;	     /* ... after the last time that was in vain */
	uint32_t limit_us;   /* how long it spins */
	uint32_t served_cnt; /* arrivals since the last post, up to a limit */
};

void rnic_spin_fini(struct rnic_spin *spin);

/*
 * The thread has served what there was.  Shall it spin?  Then sources stay
 * awake from here on.  Under the lead.
 */
void rnic_spin_begin(struct rnic_spin *spin, struct rnic_engine *engine);

#define RNIC_SPIN_NEWS (ENGINE_EVENT_MAX + 1)

/*
 * Looks for that time, if it shall.  Without the lead.
 * Return: events of epoll in @ev; RNIC_SPIN_NEWS: a source with memory has
 * news; 0: neither.
 */
int rnic_spin(struct rnic_spin *spin, struct rnic_engine *engine,
	      struct epoll_event *ev);

#endif
