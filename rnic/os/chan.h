/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Event channels, the engine's side.  An object that raises events embeds one
 * node per kind of event, so that raising one allocates nothing and cannot
 * fail.  The application's side is declared in rnic.h.
 */
#ifndef RNIC_CHAN_H
#define RNIC_CHAN_H

#include <sys/queue.h>

#include "rnic.h"

#define RNIC_CHAN_RECORD_MAX 16

/*
 * A source of equal records.  Guarded by the channel's lock; zero before
 * first use.  Only one channel per node.
 */
struct rnic_chan_node {
	TAILQ_ENTRY(rnic_chan_node) link; /* queued: pending_cnt > 0 */
	uint32_t pending_cnt;		  /* posted, not yet read */
	uint32_t reported_cnt;		  /* read by the application so far */
	uint8_t record[RNIC_CHAN_RECORD_MAX];
};

/*
 * As rnic_chan_new(), in a forked child: behind the number @fd, which it has
 * inherited.  If that has been closed since, behind none.
 */
int rnic_chan_renew(size_t record_size, int fd, struct rnic_chan **ret_chan);

/* One more reference, for a CQ or a context. */
void rnic_chan_get(struct rnic_chan *chan);

/**
 * Queue one event and make the fd readable.
 *
 * @record: @len octets, the channel's record size; the same at every post of
 *   one node.
 *
 * A channel that was closed swallows the event.
 * Context: any thread, locks below UTIL_RANK_CHAN may be held; allocates
 * nothing, never blocks.
 */
void rnic_chan_post(struct rnic_chan *chan, struct rnic_chan_node *node,
		    const void *record, size_t len);

/**
 * The source is about to be freed: take its unread events back.
 *
 * @chan: may be NULL: nothing was ever posted.
 * Return: how many of its events the application has read in all.
 */
uint32_t rnic_chan_purge(struct rnic_chan *chan, struct rnic_chan_node *node);

#endif
