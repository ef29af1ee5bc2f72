/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What is shown of each kind of resource: one list for tables, JSON and
 * usiw top.  man/usiw-stat.1 explains the fields.
 */
#ifndef STAT_FIELDS_H
#define STAT_FIELDS_H

#include "cell.h"
#include "rows.h"

struct field {
	const char *name;  /* of the member in JSON */
	const char *title; /* of the column; NULL: not in the table */
	bool is_rate;	   /* it grows with the traffic */
	void (*get)(const struct view *view, const void *resource,
		    struct cell *ret_cell);
};

struct kind {
	enum usiw_res_kind kind;
	const char *name;   /* of the array in JSON */
	const char *title;  /* of the table */
	const char *option; /* that selects it, without "--" */
	const struct field *field;
	size_t field_cnt;
};

#define FIELDS_KIND_CNT 8
extern const struct kind fields_kinds[FIELDS_KIND_CNT];

const struct kind *fields_of(enum usiw_res_kind kind);

/* NULL: the kind has no such field. */
const struct field *fields_find(const struct kind *kind, const char *name);

#endif
