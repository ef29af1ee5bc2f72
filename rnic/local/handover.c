/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A poster gives its CPU to the thread that reads what it has written. */
#include "handover.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"

/*
 * Looks before the sleep.  A thread that has been woken takes some
 * microseconds if it has a CPU.  One that is awake reads sooner, unless it
 * computes or has lost its CPU.
 */
#define HANDOVER_SPINS_WOKEN 500
#define HANDOVER_SPINS_AWAKE 1000
/* The longest sleep: a peer that is awake does not wake the poster. */
#define HANDOVER_WOKEN_NS (1 * NS_PER_MS)
#define HANDOVER_AWAKE_NS 5000u

static bool handover_spin(const struct rnic_handover *handover)
{
	int spins = handover->was_asleep ? HANDOVER_SPINS_WOKEN
					 : HANDOVER_SPINS_AWAKE;

	for (int i = 0; i < spins; i++) {
		if (rnic_handover_is_over(handover))
			return true;
		atomic_thread_fence(memory_order_seq_cst);
	}
	return false;
}

/* Return: false: the time is over. */
static bool handover_sleep(const struct rnic_handover *handover, uint64_t ns)
{
	struct timespec ts = { 0, (long)ns };

	/* As util/cancel.h says; the word is in memory that is shared. */
	return syscall(SYS_futex, handover->sleeper, FUTEX_WAIT, 1, &ts, NULL,
		       0) == 0 ||
	       errno != ETIMEDOUT;
}

enum rnic_handover_end rnic_handover(const struct rnic_handover *handover)
{
	uint64_t now_ns, end_ns;
	bool has_time = true;

	if (handover_spin(handover))
		return RNIC_HANDOVER_READ;
	now_ns = rnic_now_ns();
	end_ns = now_ns +
		 (handover->was_asleep ? HANDOVER_WOKEN_NS : HANDOVER_AWAKE_NS);
	/* The peer may wake it for what it has read before. */
	while (has_time && now_ns < end_ns) {
		atomic_store_explicit(handover->sleeper, 1,
				      memory_order_relaxed);
		/* Pairs with the fence behind the reader's index: if that is
		 * not seen here, the reader sees the sleeper. */
		atomic_thread_fence(memory_order_seq_cst);
		if (rnic_handover_is_over(handover))
			break;
		has_time = handover_sleep(handover, end_ns - now_ns);
		now_ns = rnic_now_ns();
	}
	atomic_store_explicit(handover->sleeper, 0, memory_order_relaxed);
	return !handover->was_asleep || rnic_handover_is_over(handover)
		       ? RNIC_HANDOVER_SLEPT
		       : RNIC_HANDOVER_LATE;
}

void rnic_handover_wake(_Atomic uint32_t *sleeper)
{
	atomic_store_explicit(sleeper, 0, memory_order_relaxed);
	syscall(SYS_futex, sleeper, FUTEX_WAKE, 1, NULL, NULL, 0);
}
