/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See handle.h.  The table has lists of objects by their addresses. */
#include "handle.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "util/lock.h"
#include "util/log.h"

#define LIST_CNT 4096u

static struct util_lock table_lock = UTIL_LOCK_INIT(UTIL_RANK_LEAF);
/* guarded by table_lock */
static struct usiw_handle *lists[LIST_CNT];

/* Each list is consistent after each step that a thread may have made. */
static void fork_child(void)
{
	util_lock_init(&table_lock, UTIL_RANK_LEAF);
}

int usiw_handle_init(void)
{
	return -pthread_atfork(NULL, NULL, fork_child);
}

uint32_t usiw_handle_next(void)
{
	static _Atomic uint32_t last;

	/* relaxed: only the number matters */
	return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

static struct usiw_handle **list_of(const struct usiw_handle *handle)
{
	uint64_t hash = (uintptr_t)handle * 0x9e3779b97f4a7c15u;

	return &lists[hash >> 32 & (LIST_CNT - 1)];
}

/* Under the lock.  Return: where the table names it; NULL: nowhere. */
static struct usiw_handle **table_find(const struct usiw_handle *handle)
{
	struct usiw_handle **at = list_of(handle);

	while (*at && *at != handle)
		at = &(*at)->next;
	return *at ? at : NULL;
}

void usiw_handle_add(struct usiw_handle *handle, const uint32_t *shown)
{
	struct usiw_handle **list = list_of(handle);

	handle->shown = shown;
	handle->number = shown ? *shown : 0;
	util_lock(&table_lock);
	handle->next = *list;
	*list = handle;
	util_unlock(&table_lock);
}

void usiw_handle_renumber(struct usiw_handle *handle)
{
	util_lock(&table_lock);
	handle->number = *handle->shown;
	util_unlock(&table_lock);
}

void usiw_handle_remove(struct usiw_handle *handle)
{
	struct usiw_handle **at;

	util_lock(&table_lock);
	at = table_find(handle);
	if (at)
		*at = handle->next;
	util_unlock(&table_lock);
}

bool usiw_handle_is_there(const struct usiw_handle *handle)
{
	bool is_there;

	util_lock(&table_lock);
	is_there = table_find(handle) != NULL;
	util_unlock(&table_lock);
	return is_there;
}

int usiw_handle_check(const struct usiw_handle *handle, const char *call)
{
	bool is_there, is_same = false;

	util_lock(&table_lock);
	is_there = table_find(handle) != NULL;
	if (is_there)
		is_same = !handle->shown || *handle->shown == handle->number;
	util_unlock(&table_lock);
	if (is_same)
		return 0;
	util_err("verbs", "%s: ENOENT: %s", call,
		 is_there ? "the object's handle was altered"
			  : "there is no such object, or it was destroyed "
			    "already");
	return -ENOENT;
}
