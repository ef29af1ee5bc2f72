/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What others see of this process's resources, found as they find it. */
#ifndef TEST_RESOURCES_H
#define TEST_RESOURCES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/page-find.h"
#include "util/stat-read.h"

struct resource_search {
	enum usiw_res_kind kind;
	uint32_t id;
	bool is_found;
	uint32_t cnt; /* of that kind */
	void *ret;    /* may be NULL */
};

static inline int resource_see(void *arg, const void *resource,
			       struct util_stat_place place)
{
	const struct usiw_res_head *head = resource;
	struct resource_search *search = arg;

	(void)place;
	search->cnt++;
	if (head->id != search->id)
		return 0;
	search->is_found = true;
	if (search->ret)
		memcpy(search->ret, resource, usiw_res_size(search->kind));
	return 0;
}

static inline int resource_page(void *arg, const struct util_found_page *page)
{
	struct resource_search *search = arg;
	struct util_stat stat;

	if (util_stat_read(page->fd, &stat) < 0 ||
	    stat.pid != (uint32_t)getpid())
		return 0;
	if (util_stat_each(&stat, search->kind, resource_see, search) < 0)
		abort();
	return 1;
}

/* Nothing is found if there is no page. */
static inline void resource_search_run(struct resource_search *search)
{
	const struct util_page_search pages = {
		.name = UTIL_STAT_NAME,
		.found = resource_page,
		.arg = search,
	};

	(void)!util_page_find(&pages, getpid());
}

/* @ret_resource: struct usiw_res_KIND, or NULL. */
static inline bool resource_find(enum usiw_res_kind kind, uint32_t id,
				 void *ret_resource)
{
	struct resource_search search = {
		.kind = kind,
		.id = id,
		.ret = ret_resource,
	};

	resource_search_run(&search);
	return search.is_found;
}

/* Of all ids. */
static inline uint32_t resource_cnt(enum usiw_res_kind kind)
{
	struct resource_search search = { .kind = kind };

	resource_search_run(&search);
	return search.cnt;
}

#endif
