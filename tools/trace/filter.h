/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What usiw trace shows: -e. */
#ifndef TRACE_FILTER_H
#define TRACE_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#define TRACE_CALL_MAX 128

struct trace_filter {
	bool is_given;
	/* Whole classes; those of calls are for names that are not known. */
	bool verbs, cm, completions, events;
	bool calls[TRACE_CALL_MAX]; /* by the number of the name */
};

/* Shows all. */
void trace_filter_init(struct trace_filter *filter);

/*
 * Adds NAME[,NAME...], of which each may have a "!" before it: calls, with or
 * without "ibv_", and classes.  The first one that has no "!" clears what was
 * shown.
 * Return: 0; -1: the reason, and what is right, was printed on stderr.
 */
int trace_filter_add(struct trace_filter *filter, const char *text);

/* @name: as the record has it, of @len octets. */
bool trace_filter_has_call(const struct trace_filter *filter, const char *name,
			   size_t len);

#endif
