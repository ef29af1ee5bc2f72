/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See spin.h. */
#include "spin.h"

/* Times that it does not spin, after many times in vain. */
#define SPIN_SKIPS 63u

bool rnic_spin_is_due(struct rnic_spin *spin, uint32_t arrival_no,
		      bool has_idle_cpu)
{
	bool has_come = arrival_no != spin->arrival_no;

	spin->arrival_no = arrival_no;
	if (!has_come || !has_idle_cpu)
		return false;
	if (!spin->skip_cnt)
		return true;
	spin->skip_cnt--;
	return false;
}

void rnic_spin_note(struct rnic_spin *spin, bool found)
{
	spin->gap = found ? 0 : 2 * spin->gap + 1;
	if (spin->gap > SPIN_SKIPS)
		spin->gap = SPIN_SKIPS;
	spin->skip_cnt = spin->gap;
}
