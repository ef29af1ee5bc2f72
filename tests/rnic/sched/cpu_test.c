/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* cpu.c: whether a CPU is idle. */
#include "test.h"

#include "sched/cpu.h"
#include "util/clock.h"

#define BEGIN_NS (1000 * NS_PER_MS)

CASE(a_cpu_is_idle_while_threads_keep_theirs)
{
	static const struct {
		uint64_t after_ns; /* the look before */
		uint64_t lost_cnt;
		bool has_idle, is_crowded;
	} looks[] = {
		{ 0, 7, false, false }, /* not known yet */
		{ 1 * NS_PER_MS, 7, true, false },
		{ 1 * NS_PER_MS, 10, true, true },
		{ 1 * NS_PER_MS, 14, false, true },
		{ 10 * NS_PER_MS, 53, true, true },
		{ 10 * NS_PER_MS, 93, false, true },
		{ 1 * NS_PER_MS, 93, true, false },
	};

	for (int is_limited = 0; is_limited < 2; is_limited++) {
		struct rnic_cpu cpu = { .is_limited = is_limited };
		uint64_t now_ns = BEGIN_NS;

		for (size_t i = 0; i < ARRAY_LEN(looks); i++) {
			now_ns += looks[i].after_ns;
			assert_int_equal(
				rnic_cpu_note(&cpu, now_ns, looks[i].lost_cnt),
				looks[i].is_crowded);
			assert_int_equal(cpu.has_idle,
					 looks[i].has_idle && !is_limited);
		}
	}
}

CASE(it_is_looked_at_each_millisecond)
{
	struct rnic_cpu cpu = { 0 };

	assert_true(rnic_cpu_is_due(&cpu, BEGIN_NS));
	(void)rnic_cpu_note(&cpu, BEGIN_NS, 0);
	assert_false(rnic_cpu_is_due(&cpu, BEGIN_NS + NS_PER_MS - 1));
	assert_true(rnic_cpu_is_due(&cpu, BEGIN_NS + NS_PER_MS));
}
