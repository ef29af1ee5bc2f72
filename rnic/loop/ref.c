/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Numbered references: slots with generations, in pages that never move. */
#include "ref.h"

#include <errno.h>
#include <stdlib.h>

#include "util/cancel.h"

#define NO_SLOT UINT32_MAX

struct rnic_loop rnic_loop = {
	.lock = UTIL_LOCK_INIT(UTIL_RANK_CM),
	.inbox_lock = UTIL_LOCK_INIT(UTIL_RANK_LEAF),
	.inbox = TAILQ_HEAD_INITIALIZER(rnic_loop.inbox),
	.epoll_fd = -1,
	.wake_fd = -1,
};

static struct rnic_ref_slot *table_slot(const struct rnic_ref_table *table,
					uint32_t slot_idx)
{
	if (slot_idx >= table->page_cnt * RNIC_REF_PAGE)
		return NULL;
	return &table->page[slot_idx / RNIC_REF_PAGE][slot_idx % RNIC_REF_PAGE];
}

static int table_grow(struct rnic_ref_table *table)
{
	uint32_t base = table->page_cnt * RNIC_REF_PAGE;
	struct rnic_ref_slot *page;

	if (table->page_cnt == RNIC_REF_PAGES)
		return -EMFILE;
	page = calloc(RNIC_REF_PAGE, sizeof(*page));
	if (!page)
		return -ENOMEM;
	for (uint32_t i = 0; i < RNIC_REF_PAGE; i++) {
		page[i].note.slot_idx = base + i;
		page[i].next_free = base + i + 1;
	}
	page[RNIC_REF_PAGE - 1].next_free = NO_SLOT;
	util_lock(&rnic_loop.inbox_lock);
	table->page[table->page_cnt++] = page;
	util_unlock(&rnic_loop.inbox_lock);
	table->first_free = base;
	return 0;
}

int rnic_ref_add(struct rnic_ref_table *table, void *object, uint64_t *ret_ref)
{
	struct rnic_ref_slot *slot;
	uint32_t slot_idx;

	util_lock_assert_held(&rnic_loop.lock);
	if (table->page_cnt == 0 || table->first_free == NO_SLOT) {
		int ret = table_grow(table);

		if (ret < 0)
			return ret;
	}
	slot_idx = table->first_free;
	slot = table_slot(table, slot_idx);
	table->first_free = slot->next_free;
	slot->object = object;
	if (++slot->last_generation == 0)
		slot->last_generation = 1;
	util_lock(&rnic_loop.inbox_lock);
	slot->generation = slot->last_generation;
	util_unlock(&rnic_loop.inbox_lock);
	*ret_ref = (uint64_t)slot->generation << 32 | slot_idx;
	return 0;
}

/* Takes the slot's note out of the inbox too: its memory serves the next. */
void rnic_ref_remove(struct rnic_ref_table *table, uint64_t ref)
{
	struct rnic_ref_slot *slot = table_slot(table, rnic_ref_slot_idx(ref));

	util_lock_assert_held(&rnic_loop.lock);
	util_lock(&rnic_loop.inbox_lock);
	slot->generation = 0;
	if (slot->note.is_queued) {
		TAILQ_REMOVE(&rnic_loop.inbox, &slot->note, link);
		slot->note.is_queued = false;
	}
	util_unlock(&rnic_loop.inbox_lock);
	slot->object = NULL;
	slot->next_free = table->first_free;
	table->first_free = rnic_ref_slot_idx(ref);
}

void rnic_ref_fork_child(struct rnic_ref_table *table)
{
	for (uint32_t i = 0; i < table->page_cnt * RNIC_REF_PAGE; i++)
		table_slot(table, i)->note.is_queued = false;
}

struct rnic_ref_slot *rnic_ref_live_slot(const struct rnic_ref_table *table,
					 uint64_t ref)
{
	struct rnic_ref_slot *slot = table_slot(table, rnic_ref_slot_idx(ref));

	if (!slot || slot->generation == 0 ||
	    slot->generation != (uint32_t)(ref >> 32))
		return NULL;
	return slot;
}

void *rnic_ref_get(const struct rnic_ref_table *table, uint64_t ref)
{
	const struct rnic_ref_slot *slot = rnic_ref_live_slot(table, ref);

	return slot ? slot->object : NULL;
}

void *rnic_ref_get_slot(const struct rnic_ref_table *table, uint32_t slot_idx)
{
	const struct rnic_ref_slot *slot = table_slot(table, slot_idx);

	return slot ? slot->object : NULL;
}

void *rnic_ref_next(const struct rnic_ref_table *table, uint32_t *slot_idx)
{
	void *object = NULL;

	while (!object && *slot_idx < table->page_cnt * RNIC_REF_PAGE)
		object = table_slot(table, (*slot_idx)++)->object;
	return object;
}

/* ---- notes --------------------------------------------------------------- */

void rnic_loop_wake(void)
{
	const uint64_t one = 1;
	ssize_t len;

	do {
		len = util_sys_write(rnic_loop.wake_fd, &one, sizeof(one));
	} while (len < 0 && errno == EINTR);
}

/*
 * The note's memory is the slot's own, so that leaving one cannot fail.  The
 * write is behind the lock, which the thread will want.
 */
void rnic_loop_note(uint64_t ref, int status)
{
	struct rnic_ref_slot *slot;
	bool is_first = false;

	util_lock(&rnic_loop.inbox_lock);
	slot = rnic_ref_live_slot(&rnic_loop.noted, ref);
	if (slot && !slot->note.is_queued) {
		is_first = TAILQ_EMPTY(&rnic_loop.inbox);
		slot->note.is_queued = true;
		slot->note.status = status;
		TAILQ_INSERT_TAIL(&rnic_loop.inbox, &slot->note, link);
	}
	util_unlock(&rnic_loop.inbox_lock);
	if (is_first)
		rnic_loop_wake();
}
