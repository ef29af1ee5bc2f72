/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See spin.h. */
#include "spin.h"

static uint32_t load(const _Atomic uint32_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static void store(_Atomic uint32_t *word, uint32_t value)
{
	atomic_store_explicit(word, value, memory_order_relaxed);
}

bool sdp_budget_spins(struct sdp_budget *budget)
{
	uint32_t cnt = load(&budget->skip_cnt);

	if (cnt)
		store(&budget->skip_cnt, cnt - 1);
	return !cnt;
}

void sdp_budget_note(struct sdp_budget *budget, bool found)
{
	uint32_t gap = load(&budget->gap);

	gap = found ? gap / 2 : 2 * gap + 1;
	gap = gap < SDP_SPIN_SKIPS ? gap : SDP_SPIN_SKIPS;
	store(&budget->gap, gap);
	if (!found)
		store(&budget->skip_cnt, gap);
}
