/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Counters in a page that others may read: a file, or a memfd. */
#include "stat.h"

#include "util/cancel.h"
#include "fd.h"
#include "util/page.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(RNIC_STAT_CNT <= USIW_STAT_MAX, "counters fit the page");
_Static_assert(USIW_STAT_PARTS == 32, "parts_taken has a bit for each part");

static const char *const stat_names[] = {
#define STAT_NAME(name) [RNIC_STAT_##name] = #name,
	RNIC_STAT_LIST(STAT_NAME)
#undef STAT_NAME
};

/* Takes what is counted before the page exists. */
static struct usiw_stat_page stat_dummy;
_Atomic(struct usiw_stat_page *) rnic_stat_page = &stat_dummy;
static _Atomic bool is_made;
static _Atomic uint32_t parts_taken; /* bit n: part n + 1 */

static void page_fill(struct usiw_stat_page *page)
{
	page->pid = (uint32_t)getpid();
	page->count = RNIC_STAT_CNT;
	page->part_cnt = USIW_STAT_PARTS;
	page->version = USIW_STAT_VERSION;
	for (size_t i = 0; i < RNIC_STAT_CNT; i++)
		strncpy(page->stat[i].name, stat_names[i],
			sizeof(page->stat[i].name) - 1);
	/* release: a reader that finds it finds the rest */
	__atomic_store_n(&page->magic, USIW_STAT_MAGIC, __ATOMIC_RELEASE);
}

/* The sum of the dummy's values, which are 0 from now on. */
static uint64_t dummy_take(size_t stat)
{
	uint64_t sum = atomic_exchange_explicit(&stat_dummy.stat[stat].value, 0,
						memory_order_relaxed);

	for (size_t i = 0; i < USIW_STAT_PARTS; i++)
		sum += atomic_exchange_explicit(&stat_dummy.part[i].value[stat],
						0, memory_order_relaxed);
	return sum;
}

/* What was counted before belongs into the page, too. */
static void page_publish(struct usiw_stat_page *page)
{
	/* release: the page before its pointer */
	atomic_store_explicit(&rnic_stat_page, page, memory_order_release);
	for (size_t i = 0; i < RNIC_STAT_CNT; i++)
		rnic_stat_add((enum rnic_stat)i, dummy_take(i));
}

struct rnic_stat_part rnic_stat_part_take(void)
{
	/* acquire: pairs with rnic_stat_part_give(); the last owner's values */
	uint32_t taken =
		atomic_load_explicit(&parts_taken, memory_order_acquire);

	while (~taken) {
		uint32_t num = (uint32_t)__builtin_ctz(~taken);

		if (atomic_compare_exchange_weak_explicit(
			    &parts_taken, &taken, taken | 1u << num,
			    memory_order_acquire, memory_order_acquire))
			return (struct rnic_stat_part){ .num = num + 1 };
	}
	return (struct rnic_stat_part){ .num = 0 };
}

void rnic_stat_part_give(struct rnic_stat_part part)
{
	if (part.num)
		atomic_fetch_and_explicit(&parts_taken, ~(1u << (part.num - 1)),
					  memory_order_release);
}

/* The memfd stays open: its number is how others find the page. */
static int page_make(struct usiw_stat_page **ret_page)
{
	struct util_page made;
	int ret;

	ret = util_page_make("rnic", "usiw", sizeof(**ret_page),
			     sizeof(**ret_page), NULL, &made);
	if (ret < 0)
		return ret;
	if (made.fd >= 0 && rnic_fd_own(made.fd) < 0) {
		munmap(made.mem, sizeof(**ret_page));
		return -ENOMEM;
	}
	*ret_page = made.mem;
	return 0;
}

void rnic_stat_init(void)
{
	UTIL_CANCEL_OFF();
	struct usiw_stat_page *page = NULL;

	/* The first caller makes it; others need not wait for that. */
	if (atomic_exchange_explicit(&is_made, true, memory_order_relaxed))
		return;
	if (page_make(&page) < 0)
		return; /* counting goes on in the dummy */
	page_fill(page);
	page_publish(page);
}

void rnic_stat_fork_child(void)
{
	struct usiw_stat_page *page =
		atomic_load_explicit(&rnic_stat_page, memory_order_relaxed);

	atomic_store_explicit(&is_made, false, memory_order_relaxed);
	/* The parent's engines do not count here. */
	atomic_store_explicit(&parts_taken, 0, memory_order_relaxed);
	if (page == &stat_dummy)
		return;
	/* The mapping is shared with the parent: its counters, not ours. */
	atomic_store_explicit(&rnic_stat_page, &stat_dummy,
			      memory_order_relaxed);
	memset(&stat_dummy, 0, sizeof(stat_dummy));
	munmap(page, sizeof(*page));
}
