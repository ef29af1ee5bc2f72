/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* spin.c: whether the completion thread looks before it sleeps. */
#include "test.h"

#include "sched/spin.h"

CASE(it_needs_an_arrival_and_an_idle_cpu)
{
	struct rnic_spin spin = { 0 };

	assert_false(rnic_spin_is_due(&spin, 0, true));
	assert_true(rnic_spin_is_due(&spin, 1, true));
	assert_false(rnic_spin_is_due(&spin, 1, true));
	assert_false(rnic_spin_is_due(&spin, 2, false));
	assert_false(rnic_spin_is_due(&spin, 2, true));
	assert_true(rnic_spin_is_due(&spin, UINT32_MAX, true));
	assert_true(rnic_spin_is_due(&spin, 0, true)); /* it wraps */
}

CASE(it_is_skipped_after_spins_in_vain)
{
	static const uint32_t skips[] = { 1, 3, 7, 15, 31, 63, 63 };
	struct rnic_spin spin = { 0 };
	uint32_t arrival_no = 0;

	for (size_t i = 0; i < ARRAY_LEN(skips); i++) {
		assert_true(rnic_spin_is_due(&spin, ++arrival_no, true));
		rnic_spin_note(&spin, false);
		for (uint32_t j = 0; j < skips[i]; j++)
			assert_false(
				rnic_spin_is_due(&spin, ++arrival_no, true));
	}
	assert_true(rnic_spin_is_due(&spin, ++arrival_no, true));
	rnic_spin_note(&spin, true);
	assert_true(rnic_spin_is_due(&spin, ++arrival_no, true));
}
