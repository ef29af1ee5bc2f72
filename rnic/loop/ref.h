/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Numbered references, and the notes that engines leave for them. */
#ifndef RNIC_REF_H
#define RNIC_REF_H

#include "object.h"

/* Return: 0; -ENOMEM; -EMFILE: a million are in use. */
int rnic_ref_add(struct rnic_ref_table *table, void *object, uint64_t *ret_ref);
void rnic_ref_remove(struct rnic_ref_table *table, uint64_t ref);
/* NULL: no longer in use. */
void *rnic_ref_get(const struct rnic_ref_table *table, uint64_t ref);
/* By slot number only, whatever the generation. */
void *rnic_ref_get_slot(const struct rnic_ref_table *table, uint32_t slot_idx);
/*
 * The first object at or after slot *@slot_idx, which then becomes the slot
 * after that object. A walk starts at 0. It may remove each object that it
 * gets.
 * Return: the object; NULL: no more.
 */
void *rnic_ref_next(const struct rnic_ref_table *table, uint32_t *slot_idx);
/* The slot of a reference in use; NULL: none. The caller holds one of the two
 * locks. */
struct rnic_ref_slot *rnic_ref_live_slot(const struct rnic_ref_table *table,
					 uint64_t ref);
/* In a forked child: all notes belong to the parent. */
void rnic_ref_fork_child(struct rnic_ref_table *table);

/* The slot number of a reference. */
static inline uint32_t rnic_ref_slot_idx(uint64_t ref)
{
	return (uint32_t)ref;
}

/* The thread checks notes and deadlines. */
void rnic_loop_wake(void);

/*
 * A stream has ended: leaves a note for @ref, a reference of the loop. Engines
 * call this under the lead; it takes only a lock of rank LEAF. If the reference
 * is no longer in use, or 0, no note is left.
 * @status: 0: orderly; negative errno otherwise.
 */
void rnic_loop_note(uint64_t ref, int status);

#endif
