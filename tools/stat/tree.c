/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See tree.h. */
#include "tree.h"

#include "sdp.h"

/* jansson's functions take NULL for a value as an error, and free what they
 * are given.  Return: -1: out of memory. */
static int member_set(json_t *object, const char *name, json_t *value)
{
	return json_object_set_new(object, name, value);
}

/* jansson's integers have a sign: what is above them becomes their maximum. */
static json_t *number_of(uint64_t number)
{
	return json_integer(number < INT64_MAX ? (json_int_t)number
					       : INT64_MAX);
}

static json_t *cell_value(const struct cell *cell)
{
	switch (cell->type) {
	case CELL_NONE:
		return json_null();
	case CELL_TEXT:
		return json_of_text(cell->text);
	case CELL_BOOL:
		return json_boolean(cell->number != 0);
	case CELL_NUMBER:
	case CELL_HEX:
	case CELL_COUNT:
	case CELL_TIME:
		break;
	}
	return number_of(cell->number);
}

static json_t *resource_of(const struct kind *kind, const struct view *view,
			   const void *resource)
{
	json_t *object = json_object();

	for (size_t i = 0; object && i < kind->field_cnt; i++) {
		struct cell cell = { .type = CELL_NONE };

		if (!kind->field[i].name)
			continue;
		kind->field[i].get(view, resource, &cell);
		if (member_set(object, kind->field[i].name, cell_value(&cell)) <
		    0)
			goto fail;
	}
	return object;
fail:
	json_decref(object);
	return NULL;
}

static json_t *rows_of(const struct rows *rows, const struct view *view)
{
	const struct kind *kind = fields_of(rows->kind);
	json_t *array = json_array();

	for (size_t i = 0; i < rows->cnt; i++)
		if (json_array_append_new(
			    array, resource_of(kind, view, rows->at[i].head)) <
		    0) {
			json_decref(array);
			return NULL;
		}
	return array;
}

static json_t *kind_of(const struct process *process, const struct kind *kind,
		       const struct view *view, const struct filter *filter)
{
	struct rows rows;
	json_t *array;

	if (rows_read(&process->stat, kind->kind, &rows) < 0)
		return NULL;
	filter_rows(filter, view, &rows);
	array = rows_of(&rows, view);
	rows_free(&rows);
	return array;
}

static json_t *counters_of(const struct util_stat *stat)
{
	json_t *object = json_object();

	for (uint32_t i = 0; i < stat->counter_cnt; i++)
		if (member_set(object, stat->counter[i].name,
			       number_of(stat->counter[i].value)) < 0) {
			json_decref(object);
			return NULL;
		}
	return object;
}

/* How many there are of each kind, and how many of them have no entry. */
static json_t *numbers_of(const uint32_t numbers[USIW_RES_KIND_CNT])
{
	json_t *object = json_object();

	for (size_t i = 0; i < FIELDS_KIND_CNT; i++) {
		const struct kind *kind = &fields_kinds[i];

		if (member_set(object, kind->name,
			       number_of(numbers[kind->kind])) < 0) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

static int kinds_set(json_t *object, const struct process *process,
		     const struct filter *filter)
{
	struct view view;
	int ret = view_read(&process->stat, &view);

	if (ret < 0)
		return ret;
	for (size_t i = 0; i < FIELDS_KIND_CNT && ret == 0; i++)
		if (filter_has_kind(filter, &fields_kinds[i]))
			ret = member_set(object, fields_kinds[i].name,
					 kind_of(process, &fields_kinds[i],
						 &view, filter));
	view_free(&view);
	return ret;
}

static json_t *process_of(const struct process *process,
			  const struct filter *filter)
{
	bool is_whole = !filter_is_narrow(filter);
	json_t *object = json_object();
	int ret;

	ret = member_set(object, "pid", number_of((uint64_t)process->pid)) |
	      member_set(object, "program",
			 json_of_text(process->stat.program)) |
	      member_set(object, "user", json_of_text(process->user)) |
	      member_set(object, "start_ns",
			 number_of(process->stat.start_ns)) |
	      member_set(object, "ended", json_boolean(process->has_ended)) |
	      member_set(object, "numbers", numbers_of(process->stat.used)) |
	      member_set(object, "unseen", numbers_of(process->stat.unseen));
	if (ret == 0)
		ret = kinds_set(object, process, filter);
	if (ret == 0 && (is_whole || filter->wants_sdp))
		ret = member_set(object, "sdp", sdp_tree(process, filter));
	if (ret == 0 && (is_whole || filter->wants_counters))
		ret = member_set(object, "counters",
				 counters_of(&process->stat));
	if (ret == 0)
		return object;
	json_decref(object);
	return NULL;
}

json_t *tree_make(const struct process_list *list, const struct filter *filter)
{
	json_t *root = json_object(), *array = json_array();

	for (size_t i = 0; i < list->cnt; i++)
		if (json_array_append_new(array,
					  process_of(list->at[i], filter)) < 0)
			goto fail;
	if (member_set(root, "processes", array) == 0)
		return root;
	array = NULL;
fail:
	json_decref(array);
	json_decref(root);
	return NULL;
}
