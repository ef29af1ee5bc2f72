/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Copies of all resources of one kind. */
#ifndef STAT_ROWS_H
#define STAT_ROWS_H

#include <stddef.h>

#include "util/stat-read.h"

struct row {
	struct util_stat_place place;
	const struct usiw_res_head *head; /* struct usiw_res_KIND */
};

/* In the order of their numbers. */
struct rows {
	enum usiw_res_kind kind;
	size_t cnt;
	struct row *at;
	uint8_t *mem;
};

/* Return: 0; -ENOMEM; -errno of reading. */
int rows_read(const struct util_stat *stat, enum usiw_res_kind kind,
	      struct rows *ret_rows);
void rows_free(struct rows *rows);

/* The resource with this number; NULL: none. */
const void *rows_find(const struct rows *rows, uint32_t id);

/*
 * What resources refer to: the devices, contexts and protection domains of a
 * process.
 */
struct view {
	struct rows devices, contexts, pds;
};

int view_read(const struct util_stat *stat, struct view *ret_view);
void view_free(struct view *view);

/* The name of a device; NULL: it is not known. */
const char *view_device(const struct view *view, uint32_t id);
/* That of the context, or of the domain. */
const char *view_context_device(const struct view *view, uint32_t context);
const char *view_pd_device(const struct view *view, uint32_t pd);

#endif
