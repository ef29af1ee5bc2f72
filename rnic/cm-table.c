/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Numbered references: slots with generations, in pages that never move. */
#include "cm-internal.h"

#include <errno.h>
#include <stdlib.h>

#define NO_SLOT UINT32_MAX

static struct cm_slot *table_slot(const struct cm_table *table,
				  uint32_t slot_idx)
{
	if (slot_idx >= table->page_cnt * CM_TABLE_PAGE)
		return NULL;
	return &table->page[slot_idx / CM_TABLE_PAGE][slot_idx % CM_TABLE_PAGE];
}

static int table_grow(struct cm_table *table)
{
	uint32_t base = table->page_cnt * CM_TABLE_PAGE;
	struct cm_slot *page;

	if (table->page_cnt == CM_TABLE_PAGES)
		return -EMFILE;
	page = calloc(CM_TABLE_PAGE, sizeof(*page));
	if (!page)
		return -ENOMEM;
	for (uint32_t i = 0; i < CM_TABLE_PAGE; i++) {
		page[i].note.slot_idx = base + i;
		page[i].next_free = base + i + 1;
	}
	page[CM_TABLE_PAGE - 1].next_free = NO_SLOT;
	util_lock(&cm.inbox_lock);
	table->page[table->page_cnt++] = page;
	util_unlock(&cm.inbox_lock);
	table->first_free = base;
	return 0;
}

int cm_table_add(struct cm_table *table, void *object, uint64_t *ret_ref)
{
	struct cm_slot *slot;
	uint32_t slot_idx;

	util_lock_assert_held(&cm.lock);
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
	util_lock(&cm.inbox_lock);
	slot->generation = slot->last_generation;
	util_unlock(&cm.inbox_lock);
	*ret_ref = (uint64_t)slot->generation << 32 | slot_idx;
	return 0;
}

/* Takes the slot's note out of the inbox too: its memory serves the next. */
void cm_table_remove(struct cm_table *table, uint64_t ref)
{
	struct cm_slot *slot = table_slot(table, cm_ref_slot(ref));

	util_lock_assert_held(&cm.lock);
	util_lock(&cm.inbox_lock);
	slot->generation = 0;
	if (slot->note.is_queued) {
		TAILQ_REMOVE(&cm.inbox, &slot->note, link);
		slot->note.is_queued = false;
	}
	util_unlock(&cm.inbox_lock);
	slot->object = NULL;
	slot->next_free = table->first_free;
	table->first_free = cm_ref_slot(ref);
}

void cm_table_fork_child(struct cm_table *table)
{
	for (uint32_t i = 0; i < table->page_cnt * CM_TABLE_PAGE; i++)
		table_slot(table, i)->note.is_queued = false;
}

void *cm_table_get(const struct cm_table *table, uint64_t ref)
{
	const struct cm_slot *slot = table_slot(table, cm_ref_slot(ref));

	if (!slot || slot->generation == 0 ||
	    slot->generation != (uint32_t)(ref >> 32))
		return NULL;
	return slot->object;
}

void *cm_table_get_slot(const struct cm_table *table, uint32_t slot_idx)
{
	const struct cm_slot *slot = table_slot(table, slot_idx);

	return slot ? slot->object : NULL;
}

struct cm_slot *cm_table_live_slot(const struct cm_table *table, uint64_t ref)
{
	struct cm_slot *slot = table_slot(table, cm_ref_slot(ref));

	if (!slot || slot->generation == 0 ||
	    slot->generation != (uint32_t)(ref >> 32))
		return NULL;
	return slot;
}
