/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See table.h. */
#include "table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sdp.h"

#define COLUMNS_MAX 24

/* A table whose columns are as wide as what is in them. */
struct table {
	size_t cnt; /* columns */
	const char *title[COLUMNS_MAX];
	int width[COLUMNS_MAX];
	bool is_right[COLUMNS_MAX];
};

static void table_add(struct table *table, const char *title)
{
	if (table->cnt == COLUMNS_MAX)
		return;
	table->title[table->cnt] = title;
	table->width[table->cnt] = (int)strlen(title);
	table->is_right[table->cnt] = true;
	table->cnt++;
}

/* Before the first is printed: each cell of the table. */
static void table_measure(struct table *table, size_t column,
			  const struct cell *cell)
{
	char buf[CELL_TEXT_LEN];
	int len = (int)strlen(cell_text(cell, buf));

	if (len > table->width[column])
		table->width[column] = len;
	if (cell->type != CELL_NONE && !cell_is_number(cell->type))
		table->is_right[column] = false;
}

static void table_put(const struct table *table, size_t column,
		      const char *text)
{
	bool is_last = column + 1 == table->cnt;
	int width = table->width[column];

	if (column)
		fputs("  ", stdout);
	if (table->is_right[column])
		printf("%*s", width, text);
	else
		printf("%-*s", is_last ? 0 : width, text);
	if (is_last)
		putchar('\n');
}

static void table_head(const struct table *table)
{
	for (size_t i = 0; i < table->cnt; i++)
		table_put(table, i, table->title[i]);
}

/* ---- resources ----------------------------------------------------------- */

static struct cell cell_of(const struct field *field, const struct view *view,
			   const void *resource)
{
	struct cell cell = { .type = CELL_NONE };

	field->get(view, resource, &cell);
	return cell;
}

static void rows_print(const struct rows *rows, const struct view *view)
{
	const struct kind *kind = fields_of(rows->kind);
	const struct field *shown[COLUMNS_MAX];
	struct table table = { .cnt = 0 };
	char buf[CELL_TEXT_LEN];

	for (size_t i = 0; i < kind->field_cnt; i++) {
		if (!kind->field[i].title || table.cnt == COLUMNS_MAX)
			continue;
		shown[table.cnt] = &kind->field[i];
		table_add(&table, kind->field[i].title);
	}
	for (size_t i = 0; i < rows->cnt; i++)
		for (size_t k = 0; k < table.cnt; k++) {
			struct cell cell =
				cell_of(shown[k], view, rows->at[i].head);

			table_measure(&table, k, &cell);
		}
	table_head(&table);
	for (size_t i = 0; i < rows->cnt; i++)
		for (size_t k = 0; k < table.cnt; k++) {
			struct cell cell =
				cell_of(shown[k], view, rows->at[i].head);

			table_put(&table, k, cell_text(&cell, buf));
		}
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

static void counters_print(const struct util_stat *stat)
{
	struct table table = { .cnt = 0 };
	bool has_head = false;

	table_add(&table, "COUNTER");
	table_add(&table, "VALUE");
	table.is_right[0] = false;
	table.width[0] = (int)sizeof(stat->counter[0].name);
	table.width[1] = 20;
	for (uint32_t i = 0; i < stat->counter_cnt; i++) {
		char value[24];

		if (!stat->counter[i].value)
			continue;
		if (!has_head) {
			puts("\nCounters:");
			table_head(&table);
			has_head = true;
		}
		snprintf(value, sizeof(value), "%" PRIu64,
			 stat->counter[i].value);
		table_put(&table, 0, stat->counter[i].name);
		table_put(&table, 1, value);
	}
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

static void count_set(struct cell *cell, uint64_t number)
{
	*cell = (struct cell){ .type = CELL_COUNT, .number = number };
}

static void counter_set(struct cell *cell, const struct util_stat *stat,
			const char *name)
{
	uint64_t value = 0;

	(void)util_stat_counter(stat, name, &value);
	count_set(cell, value);
}

static void text_set(struct cell *cell, const char *text)
{
	*cell = (struct cell){ .type = CELL_TEXT };
	snprintf(cell->text, sizeof(cell->text), "%s", text);
}

static const char *const process_titles[] = {
	"PID", "PROGRAM",   "USER",	 "QPS",	 "CQS",	   "MRS",
	"IDS", "TX-OCTETS", "RX-OCTETS", "CQES", "ERRORS",
};

#define PROCESS_COLUMNS (sizeof(process_titles) / sizeof(process_titles[0]))

static void process_cells(const struct process *process, struct cell *cell)
{
	const struct util_stat *stat = &process->stat;
	size_t i = 0;

	cell[i++] = (struct cell){ .type = CELL_NUMBER,
				   .number = (uint64_t)process->pid };
	text_set(&cell[i++], stat->program);
	text_set(&cell[i++], process->user);
	count_set(&cell[i++], stat->used[USIW_RES_QP]);
	count_set(&cell[i++], stat->used[USIW_RES_CQ]);
	count_set(&cell[i++], stat->used[USIW_RES_MR]);
	count_set(&cell[i++], stat->used[USIW_RES_ID]);
	counter_set(&cell[i++], stat, "tx_octets");
	counter_set(&cell[i++], stat, "rx_octets");
	counter_set(&cell[i++], stat, "cqe");
	counter_set(&cell[i++], stat, "cqe_error");
}

static void processes_print(const struct process_list *list)
{
	struct cell cell[PROCESS_COLUMNS];
	struct table table = { .cnt = 0 };
	char buf[CELL_TEXT_LEN];

	for (size_t i = 0; i < PROCESS_COLUMNS; i++)
		table_add(&table, process_titles[i]);
	for (size_t i = 0; i < list->cnt; i++) {
		process_cells(list->at[i], cell);
		for (size_t k = 0; k < PROCESS_COLUMNS; k++)
			table_measure(&table, k, &cell[k]);
	}
	table_head(&table);
	for (size_t i = 0; i < list->cnt; i++) {
		process_cells(list->at[i], cell);
		for (size_t k = 0; k < PROCESS_COLUMNS; k++)
			table_put(&table, k, cell_text(&cell[k], buf));
	}
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

static void sums_print(const struct device_sums *sums)
{
	char sent[CELL_TEXT_LEN], received[CELL_TEXT_LEN];
	char tx_fpdu[CELL_TEXT_LEN], rx_fpdu[CELL_TEXT_LEN];
	int width = (int)strlen("DEVICE");

	for (size_t i = 0; i < sums->cnt; i++)
		if ((int)strlen(sums->at[i].name) > width)
			width = (int)strlen(sums->at[i].name);
	printf("\n%-*s  PROCESSES  TX-OCTETS  RX-OCTETS  TX-FPDUS  RX-FPDUS  "
	       "CRC-ERRORS\n",
	       width, "DEVICE");
	for (size_t i = 0; i < sums->cnt; i++) {
		const struct device_sum *sum = &sums->at[i];

		printf("%-*s  %9u  %9s  %9s  %8s  %8s  %10" PRIu64 "\n", width,
		       sum->name, sum->process_cnt,
		       cell_count_text(sum->tx_octets, sent),
		       cell_count_text(sum->rx_octets, received),
		       cell_count_text(sum->tx_fpdu, tx_fpdu),
		       cell_count_text(sum->rx_fpdu, rx_fpdu), sum->crc_bad);
	}
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
