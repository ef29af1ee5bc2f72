/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Numbered references, and the notes that engines leave for them. */
#ifndef RNIC_REF_H
#define RNIC_REF_H

#include "object.h"

/* Return: 0; -ENOMEM; -EMFILE: a million are alive. */
int rnic_ref_add(struct rnic_ref_table *table, void *object, uint64_t *ret_ref);
void rnic_ref_remove(struct rnic_ref_table *table, uint64_t ref);
/* NULL: not alive any more. */
void *rnic_ref_get(const struct rnic_ref_table *table, uint64_t ref);
/* By slot number alone, whatever the generation. */
void *rnic_ref_get_slot(const struct rnic_ref_table *table, uint32_t slot_idx);
/*
 * The first object at or behind slot *@slot_idx, which then becomes the slot
 * behind that object.  A walk starts at 0; it may remove each object it gets.
 * Return: the object; NULL: no more.
 */
void *rnic_ref_next(const struct rnic_ref_table *table, uint32_t *slot_idx);
/* The slot of a live reference; NULL: none.  One of the two locks is held. */
struct rnic_ref_slot *rnic_ref_live_slot(const struct rnic_ref_table *table,
					 uint64_t ref);
/* Forked child: notes are those of the parent. */
void rnic_ref_fork_child(struct rnic_ref_table *table);

/* The slot number of a reference. */
static inline uint32_t rnic_ref_slot_idx(uint64_t ref)
{
	return (uint32_t)ref;
}

/* The thread looks at notes and deadlines. */
void rnic_loop_wake(void);

/*
 * A stream has ended: leave a note for the reference @ref that the loop knows.
 * Called by engines, under the lead; takes a lock of rank LEAF only.  One that
 * is not alive any more, and 0, are none.
 * @status: 0: orderly; negative errno otherwise.
 */
void rnic_loop_note(uint64_t ref, int status);

#endif
