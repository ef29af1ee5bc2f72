/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Copies of the RNIC's counter page and of the resources behind it
 * (abi/usiw-res.h).
 *
 * The page belongs to another process, which may write to it meanwhile, be
 * killed, or be hostile.  What the functions return is checked: sizes, numbers
 * of entries, and texts, which are printable ASCII.  Values of enums and
 * references to other resources are not.
 *
 * Thread safety: one thread at a time for one struct util_stat.
 */
#ifndef UTIL_STAT_READ_H
#define UTIL_STAT_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/usiw-res.h"

/* Of struct util_page_search. */
#define UTIL_STAT_NAME "usiw"

struct util_stat_counter {
	char name[24];
	uint64_t value; /* the sum of all parts */
};

struct util_stat {
	int fd;	      /* the caller's; must stay open for the functions below */
	uint32_t pid; /* as the process sees it */
	uint64_t start_ns; /* CLOCK_REALTIME, when the page was made */
	char program[16];
	uint32_t used[USIW_RES_KIND_CNT];   /* resources that exist */
	uint32_t unseen[USIW_RES_KIND_CNT]; /* those that have no slot */
	uint32_t counter_cnt;
	struct util_stat_counter counter[USIW_STAT_MAX];
	uint32_t chunk_cnt;
	struct usiw_res_chunk chunk[USIW_RES_CHUNK_MAX];
};

/**
 * util_stat_read - copy the page
 *
 * Return: 0; -EAGAIN: it is being made; -EPROTO: it is none, or is damaged;
 *   -EPROTONOSUPPORT: that of another version of usiw; -errno of reading.
 */
int util_stat_read(int fd, struct util_stat *ret_stat)
	__attribute__((warn_unused_result));

/* Return: whether there is such a counter. */
bool util_stat_counter(const struct util_stat *stat, const char *name,
		       uint64_t *ret_value);

/* Where a resource was found. */
struct util_stat_place {
	uint32_t chunk, slot;
};

/* @resource: struct usiw_res_KIND, valid until it returns.  Return: 0: the next
 * one; else it stops. */
typedef int (*util_stat_each_fn)(void *arg, const void *resource,
				 struct util_stat_place place);

/**
 * util_stat_each - copy each resource of a kind, in no order
 *
 * One whose change never ends (the process was killed in the middle) is left
 * out.  The page that was cut meanwhile has no more of them.
 *
 * Return: 0; what @each returned, if not 0; -ENOMEM; -errno of reading.
 */
int util_stat_each(const struct util_stat *stat, enum usiw_res_kind kind,
		   util_stat_each_fn each, void *arg)
	__attribute__((warn_unused_result));

/**
 * util_stat_again - copy a resource that was found before
 * @resource: of at least usiw_res_size(@kind) octets, as it was found; replaced
 *   if it is still the same one.
 *
 * Return: 0; -ENOENT: it exists no more; -errno of reading.
 */
int util_stat_again(const struct util_stat *stat, enum usiw_res_kind kind,
		    struct util_stat_place place, void *resource)
	__attribute__((warn_unused_result));

/* ---- live values --------------------------------------------------------- */

/* A relaxed load. */
#define UTIL_STAT_LIVE(field)                                                  \
	atomic_load_explicit(&(field), memory_order_relaxed)

/*
 * Entries between two indices of a ring of @depth entries.  The indices may be
 * of different moments: what cannot be is 0.
 */
static inline uint32_t util_stat_fill(uint32_t from_idx, uint32_t to_idx,
				      uint32_t depth)
{
	return to_idx - from_idx <= depth ? to_idx - from_idx : 0;
}

/* The sum over all parts of a device's counter. */
#define UTIL_STAT_DEVICE_SUM(device, field)                                    \
	__extension__({                                                        \
		uint64_t util_stat_sum = 0;                                    \
                                                                               \
		for (int util_i = 0; util_i <= USIW_STAT_PARTS; util_i++)      \
			util_stat_sum +=                                       \
				UTIL_STAT_LIVE((device)->count[util_i].field); \
		util_stat_sum;                                                 \
	})

#endif
