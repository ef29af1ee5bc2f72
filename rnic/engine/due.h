/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Times at which something is due, of which the earliest is found at once: a
 * pairing heap.  It needs no memory but the entries, so that a time can always
 * be set.  An entry is added by one comparison.  To take out the earliest one
 * takes a logarithm of their number on average.
 *
 * A heap with no entries is NULL.  Its owner guards it.
 */
#ifndef RNIC_DUE_H
#define RNIC_DUE_H

#include <stdint.h>

/* An entry: part of what is due.  All fields but @serve are zero at first. */
struct rnic_due {
	uint64_t ns;		       /* CLOCK_MONOTONIC; 0: in no heap */
	struct rnic_due *child, *next; /* the first one; the next sibling */
	struct rnic_due *prev;	       /* the sibling before, or the parent */
	/* The time has come, and the entry is in no heap.  It may be set again,
	 * and it may be freed. */
	void (*serve)(struct rnic_due *due, uint64_t now_ns);
};

/* Puts @due into the heap, or moves it: it is due at @ns, which is not 0. */
void rnic_due_set(struct rnic_due **heap, struct rnic_due *due, uint64_t ns);

/* Takes @due out.  Does nothing if it is in no heap. */
void rnic_due_clear(struct rnic_due **heap, struct rnic_due *due);

/* Serves those whose time has come, the earliest first, until there is none:
 * also those that are set again by that, to a time that has come. */
void rnic_due_serve(struct rnic_due **heap, uint64_t now_ns);

/* The earliest time; 0: none. */
static inline uint64_t rnic_due_first_ns(const struct rnic_due *heap)
{
	return heap ? heap->ns : 0;
}

#endif
