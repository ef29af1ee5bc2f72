/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which resources are shown. */
#ifndef STAT_FILTER_H
#define STAT_FILTER_H

#include <stdbool.h>

#include "fields.h"

struct filter {
	const char *device; /* NULL: any; likewise the next ones */
	const char *state;
	const char *peer; /* an address, perhaps with a port */
	bool has_qp;
	uint32_t qp;
	bool is_selected[FIELDS_KIND_CNT]; /* fields_kinds[]; none: all */
	bool wants_sdp, wants_counters;
};

/* Does the user ask for certain kinds, or certain resources? */
bool filter_is_narrow(const struct filter *filter);

/* Is the kind asked for, and has it what is filtered by? */
bool filter_has_kind(const struct filter *filter, const struct kind *kind);

bool filter_takes(const struct filter *filter, const struct kind *kind,
		  const struct view *view, const void *resource);

/* Takes out the rows that are not shown. */
void filter_rows(const struct filter *filter, const struct view *view,
		 struct rows *rows);

/* As filter_takes() by the peer; @text is of a cell. */
bool filter_takes_peer(const struct filter *filter, const char *text);

#endif
