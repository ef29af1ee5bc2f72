/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* handover.c: when a poster sleeps, and what ends its sleep. */
#define _GNU_SOURCE
#include "must.h"
#include "test.h"

#include <pthread.h>
#include <sched.h>

#include "local/handover.h"

#define WRITTEN 100u

/* What both ends share. */
static _Atomic uint64_t read_octets;
static _Atomic uint32_t sleeper;

static struct rnic_handover handover_of(bool was_asleep)
{
	atomic_store(&sleeper, 0);
	return (struct rnic_handover){
		.read = &read_octets,
		.written = WRITTEN,
		.sleeper = &sleeper,
		.was_asleep = was_asleep,
	};
}

static void nobody_sleeps_for_what_is_read(void **state)
{
	static const struct {
		uint64_t read;
		bool is_over;
	} cases[] = {
		{ WRITTEN, true },
		{ WRITTEN + 1, true }, /* more has been written since */
		{ WRITTEN - 1, false },
		{ 0, false },
		{ WRITTEN + UINT64_MAX / 2 + 2, false }, /* nonsense */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rnic_handover handover = handover_of(true);

		atomic_store(&read_octets, cases[i].read);
		assert_int_equal(rnic_handover_is_over(&handover),
				 cases[i].is_over);
		assert_int_equal(rnic_handover(&handover),
				 cases[i].is_over ? RNIC_HANDOVER_READ
						  : RNIC_HANDOVER_LATE);
		assert_false(rnic_handover_has_sleeper(&sleeper));
	}
}

/* The peer reads when the poster sleeps, or is about to. */
static void *reader(void *arg)
{
	const bool *is_early = arg;

	while (!rnic_handover_has_sleeper(&sleeper))
		sched_yield();
	if (*is_early) {
		/* The wake-up belongs to what was written before. */
		rnic_handover_wake(&sleeper);
		while (!rnic_handover_has_sleeper(&sleeper) &&
		       atomic_load(&read_octets) != WRITTEN)
			sched_yield();
	}
	atomic_store(&read_octets, WRITTEN);
	rnic_handover_wake(&sleeper);
	return NULL;
}

/* Beside other load the peer may be late; then the poster goes on, too. */
static void a_reader_wakes_the_poster(void **state)
{
	enum rnic_handover_end end = RNIC_HANDOVER_LATE;

	for (int i = 0; i < 1000 && end != RNIC_HANDOVER_SLEPT; i++) {
		struct rnic_handover handover = handover_of(true);
		bool is_early = i % 2;
		pthread_t thread;

		atomic_store(&read_octets, 0);
		must(!pthread_create(&thread, NULL, reader, &is_early));
		end = rnic_handover(&handover);
		/* The reader waits for a sleeper that has gone. */
		atomic_store(&read_octets, WRITTEN);
		atomic_store(&sleeper, 1);
		must(!pthread_join(thread, NULL));
	}
	assert_int_equal(end, RNIC_HANDOVER_SLEPT);
}

/* A peer that is awake wakes nobody. */
static void a_peer_that_is_awake_is_not_waited_for(void **state)
{
	struct rnic_handover handover = handover_of(false);

	atomic_store(&read_octets, 0);
	assert_int_equal(rnic_handover(&handover), RNIC_HANDOVER_SLEPT);
	assert_false(rnic_handover_has_sleeper(&sleeper));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_sleeps_for_what_is_read),
		cmocka_unit_test(a_reader_wakes_the_poster),
		cmocka_unit_test(a_peer_that_is_awake_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
