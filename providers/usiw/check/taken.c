/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See taken.h. */
#define _GNU_SOURCE
#include "taken.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <unistd.h>

#include "util/keep-errno.h"
#include "preload.h"
#include "wr.h"

/*
 * How much memory of work requests each 64 KiB of the address space has, by a
 * remainder.  Most of what is freed has none, and needs no lock.
 */
#define GRANULE_SHIFT 16
#define GRANULE_CNT 4096
static _Atomic uint32_t granules[GRANULE_CNT];

static struct usiw_check_preload *preload;
static uint32_t used_cnt;
static pid_t own_pid; /* whose memory it is */

void usiw_check_taken_start(void)
{
	preload = dlsym(RTLD_DEFAULT, USIW_CHECK_PRELOAD_SYMBOL);
	own_pid = getpid();
}

void usiw_check_inside(int step)
{
	if (preload)
		*preload->inside() += step;
}

/* Adds @step to what the memory's granules have.  Return: is any not 0? */
static bool granules_add(uint64_t addr, uint64_t len, uint32_t step)
{
	uint64_t first = addr >> GRANULE_SHIFT;
	uint64_t cnt = ((addr + len - 1) >> GRANULE_SHIFT) - first + 1;
	bool is_used = false;

	for (uint64_t i = 0; i < cnt && i < GRANULE_CNT; i++) {
		_Atomic uint32_t *one = &granules[(first + i) % GRANULE_CNT];

		if (step)
			atomic_fetch_add_explicit(one, step,
						  memory_order_relaxed);
		else if (atomic_load_explicit(one, memory_order_relaxed))
			is_used = true;
	}
	return is_used;
}

/* A child of vfork() has the memory, and is another process. */
static void taken(enum usiw_check_call call, uint64_t addr, uint64_t len)
{
	UTIL_KEEP_ERRNO();

	if (granules_add(addr, len, 0) && getpid() == own_pid)
		usiw_check_wr_taken(call, addr, len);
}

void usiw_check_memory_used(uint64_t addr, uint32_t len, int step)
{
	if (!preload || !len)
		return;
	(void)granules_add(addr, len, (uint32_t)step);
	used_cnt += (uint32_t)step;
	atomic_store_explicit(&preload->taken, used_cnt ? taken : NULL,
			      memory_order_relaxed);
}

void usiw_check_taken_forget(void)
{
	if (!preload)
		return;
	atomic_store_explicit(&preload->taken, NULL, memory_order_relaxed);
	for (uint32_t i = 0; i < GRANULE_CNT; i++)
		atomic_store_explicit(&granules[i], 0, memory_order_relaxed);
	used_cnt = 0;
	own_pid = getpid();
}
