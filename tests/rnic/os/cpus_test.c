/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* cpus.c: what the system tells about CPUs. */
#define _GNU_SOURCE
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "must.h"
#include "os/cpus.h"

CASE(reads_whether_there_is_a_quota)
{
	static const struct {
		const char *text;
		bool is_limited;
	} table[] = {
		{ "max 100000\n", false },  { "-1\n", false },	  { "", false },
		{ "50000 100000\n", true }, { "200000\n", true },
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		assert_int_equal(rnic_cpus_parse_is_limited(table[i].text),
				 table[i].is_limited);
}

/* Two threads of one CPU that do not yield lose it to each other. */
static void *compute(void *arg)
{
	_Atomic bool *is_over = arg;

	while (!atomic_load(is_over))
		;
	return NULL;
}

CASE(counts_the_cpus_that_threads_have_lost)
{
	uint64_t lost_cnt = rnic_cpus_lost_cnt();
	_Atomic bool is_over = false;
	pthread_t other;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	must(!sched_setaffinity(0, sizeof(one), &one));
	must(!pthread_create(&other, NULL, compute, &is_over));
	while (rnic_cpus_lost_cnt() == lost_cnt)
		;
	atomic_store(&is_over, true);
	must(!pthread_join(other, NULL));
}
