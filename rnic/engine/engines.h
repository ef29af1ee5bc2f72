/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The engines of a context: what is spread over them, and what needs all of
 * them.
 *
 * A context begins with one engine. A queue pair stays with the engine that it
 * gets when it is made. Engines share nothing in the data path but what they
 * only read: the table of STags, regions, windows.
 *
 * To change what they read, a thread takes the leads of all of them, in their
 * order. A thread that has the lead of one engine must not wait for that of
 * another one. So a leader that finds such a change to be due leaves a bell
 * (rnic_engines_bell()), which is served when it has given up its lead.
 */
#ifndef RNIC_ENGINES_H
#define RNIC_ENGINES_H

#include "object.h"

#define RNIC_ENGINES_MAX 16

struct rnic_engines {
	const struct rnic_engine_ops *ops;
	struct rnic_context *ctx;
	/* Changed under all leads; the first one is there from the start. */
	_Atomic uint32_t cnt;
	uint32_t max; /* as many may be made; USIW_ENGINES */
	_Atomic(struct rnic_engine *) engine[RNIC_ENGINES_MAX];

	/* Guarded by any lead: one thread has all of them. */
	bool is_whole;
	rnic_bell_head bells; /* to be served under all leads */
	struct rnic_bell flush;
};

/* USIW_ENGINES=0: how many engines a context may have if the process may use
 * @cpu_cnt CPUs. */
uint32_t rnic_engines_by_cpus(uint32_t cpu_cnt);

/* Makes the first engine. Return: 0; as rnic_engine_new(). */
int rnic_engines_init(struct rnic_engines *engines,
		      const struct rnic_engine_ops *ops,
		      struct rnic_context *ctx);

static inline uint32_t rnic_engines_cnt(const struct rnic_engines *engines)
{
	/* acquire: pairs with engines_grow() */
	return atomic_load_explicit(&engines->cnt, memory_order_acquire);
}

/* @idx: below rnic_engines_cnt(). */
static inline struct rnic_engine *
rnic_engines_at(const struct rnic_engines *engines, uint32_t idx)
{
	return atomic_load_explicit(&engines->engine[idx],
				    memory_order_relaxed);
}

/*
 * Takes all leads, and serves what waits for that; gives them up. The caller
 * has none of them.
 */
void rnic_engines_lead(struct rnic_engines *engines);
void rnic_engines_unlead(struct rnic_engines *engines);

/* Does a leader have to leave a bell to change what all engines read? Under one
 * lead at least. */
static inline bool rnic_engines_is_partial(const struct rnic_engines *engines)
{
	return !engines->is_whole && rnic_engines_cnt(engines) > 1;
}

/* Served under all leads, soon after the calling leader has given up its
 * own. */
void rnic_engines_bell(struct rnic_engines *engines, struct rnic_bell *bell);

/* The bells of all engines are served soon: the calling leader has rung some
 * that are not its own engine's. */
void rnic_engines_flush(struct rnic_engines *engines);

/* rnic_engine_catch_up() for each that has a queue pair. */
void rnic_engines_catch_up(struct rnic_engines *engines);

/* rnic_engine_each() for each of them. */
void rnic_engines_each(struct rnic_engines *engines,
		       void (*act)(struct rnic_source *source, void *arg),
		       void *arg);

/* ---- under all leads --------------------------------------------------- */

/* The engine for another queue pair: the one with the fewest, perhaps a new
 * one. */
struct rnic_engine *rnic_engines_pick(struct rnic_engines *engines);

/* rnic_engine_mr_gone() for each. */
void rnic_engines_mr_gone(struct rnic_engines *engines, uint32_t stag,
			  const void *addr, size_t len);

/* ---- the end: as the functions for one engine -------------------------- */

bool rnic_engines_drain(struct rnic_engines *engines);
bool rnic_engines_stop(struct rnic_engines *engines);
/* rnic_engines_stop() has succeeded. */
void rnic_engines_free(struct rnic_engines *engines);

#endif
