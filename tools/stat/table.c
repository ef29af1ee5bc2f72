/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See table.h. */
#include "table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grid.h"
#include "sdp.h"

#define CNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- resources ----------------------------------------------------------- */

static struct cell cell_of(const struct field *field, const struct view *view,
			   const void *resource)
{
	struct cell cell = { .type = CELL_NONE };

	field->get(view, resource, &cell);
	return cell;
}

struct shown_rows {
	const struct rows *rows;
	const struct view *view;
	const struct field *field[GRID_COLUMNS_MAX];
	size_t field_cnt;
};

static void row_fill(const void *arg, size_t row, struct cell *ret_cells)
{
	const struct shown_rows *shown = arg;

	for (size_t k = 0; k < shown->field_cnt; k++)
		ret_cells[k] = cell_of(shown->field[k], shown->view,
				       shown->rows->at[row].head);
}

static void rows_print(const struct rows *rows, const struct view *view)
{
	const struct kind *kind = fields_of(rows->kind);
	struct shown_rows shown = { .rows = rows, .view = view };
	const char *titles[GRID_COLUMNS_MAX];

	for (size_t i = 0;
	     i < kind->field_cnt && shown.field_cnt < GRID_COLUMNS_MAX; i++) {
		if (!kind->field[i].title)
			continue;
		titles[shown.field_cnt] = kind->field[i].title;
		shown.field[shown.field_cnt++] = &kind->field[i];
	}
	grid_print(titles, shown.field_cnt, rows->cnt, row_fill, &shown);
}

/* One resource, with all that is known of it. */
static void row_print(const struct kind *kind, const struct view *view,
		      const void *resource)
{
	char buf[CELL_TEXT_LEN];

	for (size_t i = 0; i < kind->field_cnt; i++) {
		struct cell cell;

		if (!kind->field[i].name)
			continue;
		cell = cell_of(&kind->field[i], view, resource);
		if (cell.type == CELL_COUNT)
			cell.type = CELL_NUMBER;
		printf("  %-20s  %s\n", kind->field[i].name,
		       cell_text(&cell, buf));
	}
}

/* Of a process, before the first of its tables. */
static void head_print(const struct process *process, bool *has_head)
{
	static bool is_next;

	if (*has_head)
		return;
	*has_head = true;
	printf("%sProcess %d: %s, user %s%s\n", is_next ? "\n" : "",
	       process->pid, process->stat.program, process->user,
	       process->has_ended ? ", ended" : "");
	is_next = true;
}

static void kind_rows_print(const struct kind *kind, const struct view *view,
			    const struct filter *filter,
			    const struct rows *rows)
{
	printf("\n%s:\n", kind->title);
	if (rows->cnt == 1 && filter->has_qp && kind->kind == USIW_RES_QP)
		row_print(kind, view, rows->at[0].head);
	else
		rows_print(rows, view);
}

static int kind_print(const struct process *process, const struct kind *kind,
		      const struct view *view, const struct filter *filter,
		      bool *has_head)
{
	uint32_t unseen = process->stat.unseen[kind->kind];
	struct rows rows;
	int ret = rows_read(&process->stat, kind->kind, &rows);

	if (ret < 0)
		return ret;
	filter_rows(filter, view, &rows);
	if (rows.cnt || unseen)
		head_print(process, has_head);
	if (rows.cnt)
		kind_rows_print(kind, view, filter, &rows);
	if (unseen)
		printf("%u more have no entry: the file of the counter page "
		       "could not grow\n",
		       unseen);
	rows_free(&rows);
	return 0;
}

static struct cell number_of(enum cell_type type, uint64_t number)
{
	return (struct cell){ .type = type, .number = number };
}

static void counter_fill(const void *arg, size_t row, struct cell *ret_cells)
{
	const struct util_stat_counter *const *counter = arg;

	cell_set_text(&ret_cells[0], counter[row]->name);
	ret_cells[1] = number_of(CELL_NUMBER, counter[row]->value);
}

/* Those that are not 0. */
static void counters_print(const struct util_stat *stat)
{
	static const char *const titles[] = { "COUNTER", "VALUE" };
	const struct util_stat_counter *shown[USIW_STAT_MAX];
	size_t cnt = 0;

	for (uint32_t i = 0; i < stat->counter_cnt; i++)
		if (stat->counter[i].value)
			shown[cnt++] = &stat->counter[i];
	if (!cnt)
		return;
	puts("\nCounters:");
	grid_print(titles, CNT(titles), cnt, counter_fill, shown);
}

int table_process(const struct process *process, const struct filter *filter,
		  bool is_named)
{
	bool is_whole = !filter_is_narrow(filter), has_head = false;
	struct view view;
	int ret = view_read(&process->stat, &view);

	if (ret < 0)
		return ret;
	if (is_named || filter->wants_counters)
		head_print(process, &has_head);
	for (size_t i = 0; i < FIELDS_KIND_CNT && ret == 0; i++)
		if (filter_has_kind(filter, &fields_kinds[i]))
			ret = kind_print(process, &fields_kinds[i], &view,
					 filter, &has_head);
	if (ret == 0 && (filter->wants_sdp || is_whole)) {
		head_print(process, &has_head);
		ret = sdp_table(process, filter);
	}
	if (filter->wants_counters || is_whole)
		counters_print(&process->stat);
	view_free(&view);
	return ret;
}

/* ---- all processes ------------------------------------------------------- */

static struct cell counter_of(const struct util_stat *stat, const char *name)
{
	uint64_t value = 0;

	(void)util_stat_counter(stat, name, &value);
	return number_of(CELL_COUNT, value);
}

static void process_fill(const void *arg, size_t row, struct cell *ret_cells)
{
	const struct process_list *list = arg;
	const struct process *process = list->at[row];
	const struct util_stat *stat = &process->stat;
	struct cell *cell = ret_cells;

	*cell++ = number_of(CELL_NUMBER, (uint64_t)process->pid);
	cell_set_text(cell++, stat->program);
	cell_set_text(cell++, process->user);
	*cell++ = number_of(CELL_COUNT, stat->used[USIW_RES_QP]);
	*cell++ = number_of(CELL_COUNT, stat->used[USIW_RES_CQ]);
	*cell++ = number_of(CELL_COUNT, stat->used[USIW_RES_MR]);
	*cell++ = number_of(CELL_COUNT, stat->used[USIW_RES_ID]);
	*cell++ = counter_of(stat, "tx_octets");
	*cell++ = counter_of(stat, "rx_octets");
	*cell++ = counter_of(stat, "cqe");
	*cell = counter_of(stat, "cqe_error");
}

static void processes_print(const struct process_list *list)
{
	static const char *const titles[] = {
		"PID", "PROGRAM",   "USER",	 "QPS",	 "CQS",	   "MRS",
		"IDS", "TX-OCTETS", "RX-OCTETS", "CQES", "ERRORS",
	};

	grid_print(titles, CNT(titles), list->cnt, process_fill, list);
}

/* ---- devices of all processes -------------------------------------------- */

struct device_sum {
	char name[64];
	uint32_t process_cnt;
	uint64_t tx_octets, rx_octets, tx_fpdu, rx_fpdu, crc_bad;
};

struct device_sums {
	struct device_sum *at;
	size_t cnt;
};

static struct device_sum *sum_of(struct device_sums *sums, const char *name)
{
	struct device_sum *bigger;

	for (size_t i = 0; i < sums->cnt; i++)
		if (strcmp(sums->at[i].name, name) == 0)
			return &sums->at[i];
	bigger = realloc(sums->at, (sums->cnt + 1) * sizeof(*bigger));
	if (!bigger)
		return NULL;
	sums->at = bigger;
	bigger += sums->cnt++;
	*bigger = (struct device_sum){ .process_cnt = 0 };
	memcpy(bigger->name, name, sizeof(bigger->name));
	return bigger;
}

static int device_add(void *arg, const void *resource,
		      struct util_stat_place place)
{
	const struct usiw_res_device *device = resource;
	struct device_sum *sum = sum_of(arg, device->name);

	(void)place;
	if (!sum)
		return -ENOMEM;
	sum->process_cnt++;
	sum->tx_octets += UTIL_STAT_DEVICE_SUM(device, tx_inplace) +
			  UTIL_STAT_DEVICE_SUM(device, tx_copied);
	sum->rx_octets += UTIL_STAT_DEVICE_SUM(device, rx_direct) +
			  UTIL_STAT_DEVICE_SUM(device, rx_staged);
	sum->tx_fpdu += UTIL_STAT_DEVICE_SUM(device, tx_fpdu);
	sum->rx_fpdu += UTIL_STAT_DEVICE_SUM(device, rx_fpdu);
	sum->crc_bad += UTIL_STAT_DEVICE_SUM(device, rx_crc_bad);
	return 0;
}

static void sum_fill(const void *arg, size_t row, struct cell *ret_cells)
{
	const struct device_sums *sums = arg;
	const struct device_sum *sum = &sums->at[row];

	cell_set_text(&ret_cells[0], sum->name);
	ret_cells[1] = number_of(CELL_NUMBER, sum->process_cnt);
	ret_cells[2] = number_of(CELL_COUNT, sum->tx_octets);
	ret_cells[3] = number_of(CELL_COUNT, sum->rx_octets);
	ret_cells[4] = number_of(CELL_COUNT, sum->tx_fpdu);
	ret_cells[5] = number_of(CELL_COUNT, sum->rx_fpdu);
	ret_cells[6] = number_of(CELL_NUMBER, sum->crc_bad);
}

static void sums_print(const struct device_sums *sums)
{
	static const char *const titles[] = {
		"DEVICE",   "PROCESSES", "TX-OCTETS",  "RX-OCTETS",
		"TX-FPDUS", "RX-FPDUS",	 "CRC-ERRORS",
	};

	putchar('\n');
	grid_print(titles, CNT(titles), sums->cnt, sum_fill, sums);
}

int table_processes(const struct process_list *list)
{
	struct device_sums sums = { .cnt = 0 };
	int ret = 0;

	processes_print(list);
	for (size_t i = 0; i < list->cnt && ret >= 0; i++)
		ret = util_stat_each(&list->at[i]->stat, USIW_RES_DEVICE,
				     device_add, &sums);
	if (ret == 0 && sums.cnt)
		sums_print(&sums);
	free(sums.at);
	return ret;
}
