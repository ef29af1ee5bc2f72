/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A pairing heap of times. */
#include "due.h"

#include <stddef.h>

/* Of two heaps one; either may be NULL. */
static struct rnic_due *due_meld(struct rnic_due *a, struct rnic_due *b)
{
	struct rnic_due *later = b;

	if (!a || !b)
		return a ? a : b;
	if (b->ns < a->ns) {
		later = a;
		a = b;
	}
	later->prev = a;
	later->next = a->child;
	if (later->next)
		later->next->prev = later;
	a->child = later;
	return a;
}

/* Cuts the first entry off a list of siblings. */
static struct rnic_due *due_cut(struct rnic_due **list)
{
	struct rnic_due *due = *list;

	if (due)
		*list = due->next;
	return due;
}

/* Of siblings one heap: in pairs, then from the last pair to the first. */
static struct rnic_due *due_meld_all(struct rnic_due *list)
{
	struct rnic_due *pairs = NULL, *heap = NULL, *pair;

	while (list) {
		pair = due_cut(&list);
		pair = due_meld(pair, due_cut(&list));
		pair->next = pairs;
		pairs = pair;
	}
	while (pairs)
		heap = due_meld(heap, due_cut(&pairs));
	return heap;
}

void rnic_due_clear(struct rnic_due **heap, struct rnic_due *due)
{
	struct rnic_due *rest;

	if (!due->ns)
		return;
	rest = due_meld_all(due->child);
	due->child = NULL;
	due->ns = 0;
	if (due == *heap) {
		*heap = rest;
		return;
	}
	if (due->prev->child == due)
		due->prev->child = due->next;
	else
		due->prev->next = due->next;
	if (due->next)
		due->next->prev = due->prev;
	*heap = due_meld(*heap, rest);
}

void rnic_due_set(struct rnic_due **heap, struct rnic_due *due, uint64_t ns)
{
	rnic_due_clear(heap, due);
	due->ns = ns;
	*heap = due_meld(*heap, due);
}

void rnic_due_serve(struct rnic_due **heap, uint64_t now_ns)
{
	while (*heap && (*heap)->ns <= now_ns) {
		struct rnic_due *due = *heap;

		rnic_due_clear(heap, due);
		due->serve(due, now_ns);
	}
}
