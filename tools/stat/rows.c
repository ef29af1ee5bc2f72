/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See rows.h. */
#include "rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"

struct reading {
	struct rows rows;
	size_t size; /* of a resource */
	size_t max;  /* rows that have room */
};

static int reading_grow(struct reading *reading)
{
	size_t max = reading->max ? 2 * reading->max : 64;
	struct row *at = realloc(reading->rows.at, max * sizeof(*at));
	uint8_t *mem;

	if (!at)
		return -ENOMEM;
	reading->rows.at = at;
	mem = util_alloc_lines(max, reading->size);
	if (!mem)
		return -ENOMEM;
	if (reading->rows.cnt)
		memcpy(mem, reading->rows.mem,
		       reading->rows.cnt * reading->size);
	free(reading->rows.mem);
	reading->rows.mem = mem;
	reading->max = max;
	return 0;
}

static int row_add(void *arg, const void *resource,
		   struct util_stat_place place)
{
	struct reading *reading = arg;
	struct rows *rows = &reading->rows;

	if (rows->cnt == reading->max && reading_grow(reading) < 0)
		return -ENOMEM;
	rows->at[rows->cnt].place = place;
	memcpy(rows->mem + rows->cnt * reading->size, resource, reading->size);
	rows->cnt++;
	return 0;
}

static int row_order(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->head->id != b->head->id)
		return a->head->id < b->head->id ? -1 : 1;
	return 0;
}

int rows_read(const struct util_stat *stat, enum usiw_res_kind kind,
	      struct rows *ret_rows)
{
	struct reading reading = {
		.rows = { .kind = kind },
		.size = usiw_res_size(kind),
	};
	struct rows *rows = &reading.rows;
	int ret = util_stat_each(stat, kind, row_add, &reading);

	if (ret < 0) {
		rows_free(rows);
		return ret;
	}
	for (size_t i = 0; i < rows->cnt; i++)
		rows->at[i].head = (const void *)(rows->mem + i * reading.size);
	if (rows->cnt)
		qsort(rows->at, rows->cnt, sizeof(*rows->at), row_order);
	*ret_rows = *rows;
	return 0;
}

void rows_free(struct rows *rows)
{
	free(rows->at);
	free(rows->mem);
	*rows = (struct rows){ .cnt = 0 };
}

const void *rows_find(const struct rows *rows, uint32_t id)
{
	size_t first = 0, end = rows->cnt;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (rows->at[middle].head->id == id)
			return rows->at[middle].head;
		if (rows->at[middle].head->id < id)
			first = middle + 1;
		else
			end = middle;
	}
	return NULL;
}

int view_read(const struct util_stat *stat, struct view *ret_view)
{
	struct view view = { .devices = { .cnt = 0 } };
	int ret = rows_read(stat, USIW_RES_DEVICE, &view.devices);

	if (ret == 0)
		ret = rows_read(stat, USIW_RES_CONTEXT, &view.contexts);
	if (ret == 0)
		ret = rows_read(stat, USIW_RES_PD, &view.pds);
	if (ret < 0)
		view_free(&view);
	else
		*ret_view = view;
	return ret;
}

void view_free(struct view *view)
{
	rows_free(&view->devices);
	rows_free(&view->contexts);
	rows_free(&view->pds);
}

const char *view_device(const struct view *view, uint32_t id)
{
	const struct usiw_res_device *device = rows_find(&view->devices, id);

	return device ? device->name : NULL;
}

const char *view_context_device(const struct view *view, uint32_t context)
{
	const struct usiw_res_context *ctx =
		rows_find(&view->contexts, context);

	return ctx ? view_device(view, ctx->device) : NULL;
}

const char *view_pd_device(const struct view *view, uint32_t pd)
{
	const struct usiw_res_pd *domain = rows_find(&view->pds, pd);

	return domain ? view_context_device(view, domain->context) : NULL;
}
