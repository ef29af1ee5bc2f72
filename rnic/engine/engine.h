/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The engine makes progress for all streams of a context, with one leader at a
 * time: the thread that holds @lead.
 *
 * - A thread that posts tries to take the lead and transmits what it posted.
 * - A thread that polls an empty CQ tries to take the lead and does one pass
 *   over the sockets: reads, places, completes, transmits. No other thread is
 *   involved.
 * - The engine's completion thread serves everything else. It blocks in epoll.
 *   While another thread is inside a run of empty polls it parks, so that both
 *   do not wake up for the same octets.
 *
 * Doorbell: a QP whose SQ got entries is pushed on a lock-free stack. So are an
 * RQ of a QP that has ended or holds a Send, and such an SRQ. A thread that
 * gives up the lead checks the stack once more, so a thread that posted and did
 * not get the lead need not wait or wake another thread.
 *
 * Who serves what and when is decided by rnic/sched/: posts that are
 * transmitted together (sched/burst.h) wait for a poll, for instance.  Receives
 * that held Sends wait for are posts, too.
 */
#ifndef RNIC_ENGINE_H
#define RNIC_ENGINE_H

#include "lead.h"
#include "object.h"
#include "pass.h"
#include "post.h"

int rnic_engine_new(const struct rnic_engine_ops *ops, struct rnic_context *ctx,
		    struct rnic_engine **ret_engine);

/* Begins the orderly end of every stream. Return: false: the lead was not free
 * by @end_ns (CLOCK_MONOTONIC). */
bool rnic_engine_close(struct rnic_engine *engine, uint64_t end_ns);

/*
 * Ends every stream in order: sends FIN, and reads until the peer's FIN or
 * until @end_ns. Other threads may continue to make calls.
 * Return: false: the lead was not free within the limit; nothing was done.
 */
bool rnic_engine_drain(struct rnic_engine *engine, uint64_t end_ns);

/* Drains, and ends the completion thread. Return: as rnic_engine_drain(). */
bool rnic_engine_stop(struct rnic_engine *engine, uint64_t end_ns);

/* Stops, and frees everything that could be stopped. NULL: nothing. */
void rnic_engine_free(struct rnic_engine *engine);

#endif
