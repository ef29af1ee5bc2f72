/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Event channels, the engine's side. An object that raises events contains one
 * node per kind of event, so that raising one allocates nothing and cannot
 * fail. rnic.h declares the application's side.
 */
#ifndef RNIC_CHAN_H
#define RNIC_CHAN_H

#include <sys/queue.h>

#include "rnic.h"

#define RNIC_CHAN_RECORD_MAX 16

/*
 * A source of equal records. Guarded by the channel's lock; zero before the
 * first use. A node belongs to one channel only.
 */
struct rnic_chan_node {
	TAILQ_ENTRY(rnic_chan_node) link; /* queued: pending_cnt > 0 */
	uint32_t pending_cnt;		  /* posted, not yet read */
	uint32_t reported_cnt;		  /* read by the application so far */
	uint8_t record[RNIC_CHAN_RECORD_MAX];
};

/*
 * As rnic_chan_new(), in a forked child, with the number @fd, which the child
 * has inherited. If that was closed in the meantime, without a number.
 */
int rnic_chan_renew(size_t record_size, int fd, struct rnic_chan **ret_chan);

/* Takes a reference, for a CQ or a context. */
void rnic_chan_get(struct rnic_chan *chan);

/**
 * Queues one event and makes the fd readable.
 *
 * @record: @len octets, the channel's record size; the same in every post of
 *   one node.
 *
 * A closed channel drops the event.
 * Context: any thread, locks below UTIL_RANK_CHAN may be held; allocates
 *   nothing, never blocks.
 */
void rnic_chan_post(struct rnic_chan *chan, struct rnic_chan_node *node,
		    const void *record, size_t len);

/**
 * The source is about to be freed: removes its unread events.
 *
 * @chan: may be NULL: nothing was ever posted.
 * Return: how many of its events the application has read in all.
 */
uint32_t rnic_chan_purge(struct rnic_chan *chan, struct rnic_chan_node *node);

#endif
