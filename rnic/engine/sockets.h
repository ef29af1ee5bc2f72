/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Sources that have a socket only: which of them a poll reads.
 *
 * To read one takes a system call, and so does epoll, which knows all of them.
 * So a poll reads those that epoll has named lately, until they are quiet, and
 * asks epoll seldom (sched/look.h).  A busy connection costs the same among
 * many idle ones as alone.
 *
 * All under the lead.
 */
#ifndef RNIC_ENGINE_SOCKETS_H
#define RNIC_ENGINE_SOCKETS_H

#include "object.h"

/* Reads those that are busy. */
void rnic_engine_pass_busy(struct rnic_engine *engine);

/* Epoll has named this one.  Return: whether no poll has read it lately. */
bool rnic_engine_note_busy(struct rnic_engine *engine,
			   struct rnic_source *source);

/* It has brought octets of a peer. */
static inline void rnic_engine_note_octets(struct rnic_engine *engine,
					   struct rnic_source *source)
{
	source->quiet_cnt = 0;
	rnic_sched_note_arrival(&engine->sched);
}

/* It goes, or has memory now. */
void rnic_engine_forget_busy(struct rnic_engine *engine,
			     const struct rnic_source *source);

#endif
