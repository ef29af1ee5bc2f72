/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See model.h. */
#define _GNU_SOURCE /* qsort_r, strcasestr */
#include "model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"

#define CNT(array) (sizeof(array) / sizeof((array)[0]))

/* What of a row grows. */
struct counts {
	uint64_t id, made_ns;
	uint64_t tx_octets, rx_octets, tx_messages, rx_messages;
};

struct sample {
	uint64_t ns;	   /* 0: none */
	struct counts *at; /* by rising id */
	size_t cnt;
};

/* The cell that a row is sorted by. */
struct sort_key {
	struct top_row row;
	struct cell cell;
};

struct top_model {
	enum top_level level;
	struct process_list list;
	struct process *process; /* that is open; of the list */
	struct view view;	 /* of that process */
	struct rows rows;	 /* its queue pairs; TOP_QP: one of them */
	struct row one;		 /* TOP_QP: where it was found */
	struct usiw_res_qp *qp;	 /* TOP_QP: its copy */
	struct sample last;
	struct top_row *row;
	size_t row_cnt;
	struct sort_key *key;
	size_t key_max;
};

/* ---- columns ------------------------------------------------------------- */

#define NUMBER(name, cell_type, expr)                                          \
	static void get_##name(const struct top_row *row,                      \
			       const struct view *view, struct cell *cell)     \
	{                                                                      \
		(void)view;                                                    \
		*cell = (struct cell){ .type = cell_type, .number = (expr) };  \
	}

NUMBER(tx_octets, CELL_COUNT, row->rate.tx_octets)
NUMBER(rx_octets, CELL_COUNT, row->rate.rx_octets)
NUMBER(tx_messages, CELL_COUNT, row->rate.tx_messages)
NUMBER(rx_messages, CELL_COUNT, row->rate.rx_messages)

static const struct process *process_of(const struct top_row *row)
{
	return row->ref;
}

#define USED(name, kind)                                                       \
	NUMBER(name, CELL_COUNT, process_of(row)->stat.used[kind])

NUMBER(pid, CELL_NUMBER, row->id)
USED(qps, USIW_RES_QP)
USED(cqs, USIW_RES_CQ)
USED(mrs, USIW_RES_MR)

static void get_program(const struct top_row *row, const struct view *view,
			struct cell *cell)
{
	(void)view;
	cell_set_text(cell, process_of(row)->stat.program);
}

static void get_user(const struct top_row *row, const struct view *view,
		     struct cell *cell)
{
	(void)view;
	cell_set_text(cell, process_of(row)->user);
}

static const struct top_column process_columns[] = {
	{ "PID", 7, false, get_pid },
	{ "PROGRAM", 15, true, get_program },
	{ "USER", 8, true, get_user },
	{ "QPS", 5, false, get_qps },
	{ "CQS", 5, false, get_cqs },
	{ "MRS", 5, false, get_mrs },
	{ "TX/s", 7, false, get_tx_octets },
	{ "RX/s", 7, false, get_rx_octets },
	{ "CQE/s", 7, false, get_tx_messages },
};

static void qp_field(const struct top_row *row, const struct view *view,
		     const char *name, struct cell *cell)
{
	*cell = (struct cell){ .type = CELL_NONE };
	fields_find(fields_of(USIW_RES_QP), name)->get(view, row->ref, cell);
}

#define QP_FIELD(name)                                                         \
	static void get_##name(const struct top_row *row,                      \
			       const struct view *view, struct cell *cell)     \
	{                                                                      \
		qp_field(row, view, #name, cell);                              \
	}

QP_FIELD(qp)
QP_FIELD(state)
QP_FIELD(carrier)
QP_FIELD(sq_outstanding)
QP_FIELD(rq_posted)
QP_FIELD(peer)

static const struct top_column qp_columns[] = {
	{ "QP", 8, false, get_qp },
	{ "STATE", 10, true, get_state },
	{ "OVER", 5, true, get_carrier },
	{ "SQ", 4, false, get_sq_outstanding },
	{ "RQ", 4, false, get_rq_posted },
	{ "TX/s", 6, false, get_tx_octets },
	{ "RX/s", 6, false, get_rx_octets },
	{ "TXM/s", 6, false, get_tx_messages },
	{ "RXM/s", 6, false, get_rx_messages },
	{ "PEER", 21, true, get_peer },
};

static const struct field *field_of(const struct top_row *row)
{
	return &fields_of(USIW_RES_QP)->field[row->id];
}

static void get_field(const struct top_row *row, const struct view *view,
		      struct cell *cell)
{
	(void)view;
	cell_set_text(cell, field_of(row)->name);
}

static void get_value(const struct top_row *row, const struct view *view,
		      struct cell *cell)
{
	*cell = (struct cell){ .type = CELL_NONE };
	field_of(row)->get(view, row->ref, cell);
	if (cell->type == CELL_COUNT)
		cell->type = CELL_NUMBER;
}

static void get_field_rate(const struct top_row *row, const struct view *view,
			   struct cell *cell)
{
	(void)view;
	*cell = (struct cell){ .type = CELL_NONE };
	if (field_of(row)->is_rate)
		*cell = (struct cell){ .type = CELL_COUNT,
				       .number = row->rate.tx_octets };
}

static const struct top_column field_columns[] = {
	{ "FIELD", 20, true, get_field },
	{ "VALUE", 26, true, get_value },
	{ "PER SECOND", 10, false, get_field_rate },
};

const struct top_column *top_model_columns(const struct top_model *model,
					   size_t *ret_cnt)
{
	switch (model->level) {
	case TOP_QPS:
		*ret_cnt = CNT(qp_columns);
		return qp_columns;
	case TOP_QP:
		*ret_cnt = CNT(field_columns);
		return field_columns;
	case TOP_PROCESSES:
		break;
	}
	*ret_cnt = CNT(process_columns);
	return process_columns;
}

void top_model_cell(const struct top_model *model, const struct top_row *row,
		    size_t column, struct cell *ret_cell)
{
	size_t cnt;

	top_model_columns(model, &cnt)[column].get(row, &model->view, ret_cell);
}

/* ---- samples ------------------------------------------------------------- */

static uint64_t counter_of(const struct process *process, const char *name)
{
	uint64_t value = 0;

	(void)util_stat_counter(&process->stat, name, &value);
	return value;
}

static struct counts process_counts(const struct process *process)
{
	return (struct counts){
		.id = (uint64_t)process->pid,
		.made_ns = process->stat.start_ns,
		.tx_octets = counter_of(process, "tx_octets"),
		.rx_octets = counter_of(process, "rx_octets"),
		.tx_messages = counter_of(process, "cqe"),
	};
}

static uint64_t messages_of(const struct usiw_res_traffic *traffic)
{
	uint64_t sum = 0;

	for (int i = 0; i < USIW_RES_OP_CNT; i++)
		sum += UTIL_STAT_LIVE(traffic->messages[i]);
	return sum;
}

/* Datagrams have no stream. */
static uint64_t octets_of(const struct usiw_res_traffic *traffic)
{
	uint64_t stream = UTIL_STAT_LIVE(traffic->stream_octets);

	return stream ? stream
		      : UTIL_STAT_LIVE(traffic->octets[USIW_RES_OP_SEND]);
}

static struct counts qp_counts(const struct usiw_res_qp *qp)
{
	return (struct counts){
		.id = qp->head.id,
		.made_ns = qp->head.made_ns,
		.tx_octets = octets_of(&qp->tx),
		.rx_octets = octets_of(&qp->rx),
		.tx_messages = messages_of(&qp->tx),
		.rx_messages = messages_of(&qp->rx),
	};
}

/* A field of the open queue pair, which grows or does not. */
static struct counts field_counts(const struct top_model *model, size_t idx)
{
	const struct field *field = &fields_of(USIW_RES_QP)->field[idx];
	struct cell cell = { .type = CELL_NONE };

	if (field->is_rate)
		field->get(&model->view, model->qp, &cell);
	return (struct counts){
		.id = idx,
		.made_ns = model->qp->head.made_ns,
		.tx_octets = cell.number,
	};
}

/* What is counted may be counted anew, and a process may write nonsense. */
static uint64_t rate_of(uint64_t now, uint64_t before, uint64_t ns)
{
	if (now < before || !ns)
		return 0;
	return (uint64_t)((double)(now - before) * NS_PER_S / (double)ns);
}

static struct top_rate rate_between(const struct counts *now,
				    const struct counts *before, uint64_t ns)
{
	return (struct top_rate){
		.tx_octets = rate_of(now->tx_octets, before->tx_octets, ns),
		.rx_octets = rate_of(now->rx_octets, before->rx_octets, ns),
		.tx_messages =
			rate_of(now->tx_messages, before->tx_messages, ns),
		.rx_messages =
			rate_of(now->rx_messages, before->rx_messages, ns),
	};
}

/* Both are by rising id. */
static struct top_rate rate_since(const struct sample *last, size_t *at,
				  const struct counts *now, uint64_t now_ns)
{
	while (*at < last->cnt && last->at[*at].id < now->id)
		++*at;
	if (*at == last->cnt || last->at[*at].id != now->id ||
	    last->at[*at].made_ns != now->made_ns)
		return (struct top_rate){ 0 };
	return rate_between(now, &last->at[*at], now_ns - last->ns);
}

static void sample_forget(struct top_model *model)
{
	free(model->last.at);
	model->last = (struct sample){ 0 };
	model->row_cnt = 0;
}

/* ---- levels -------------------------------------------------------------- */

struct top_model *top_model_new(void)
{
	return calloc(1, sizeof(struct top_model));
}

void top_model_free(struct top_model *model)
{
	sample_forget(model);
	process_list_free(&model->list);
	view_free(&model->view);
	rows_free(&model->rows);
	free(model->qp);
	free(model->row);
	free(model->key);
	free(model);
}

enum top_level top_model_level(const struct top_model *model)
{
	return model->level;
}

static struct process *process_by_pid(const struct top_model *model,
				      uint64_t pid)
{
	for (size_t i = 0; i < model->list.cnt; i++)
		if ((uint64_t)model->list.at[i]->pid == pid)
			return model->list.at[i];
	return NULL;
}

static const struct row *qp_by_num(const struct top_model *model, uint64_t num)
{
	for (size_t i = 0; i < model->rows.cnt; i++)
		if (model->rows.at[i].head->id == num)
			return &model->rows.at[i];
	return NULL;
}

static bool qp_open(struct top_model *model, uint64_t num)
{
	const struct row *row = qp_by_num(model, num);
	size_t size = usiw_res_size(USIW_RES_QP);

	if (!row)
		return false;
	model->qp = aligned_alloc(USIW_CACHE_LINE, size);
	if (!model->qp)
		return false;
	memcpy(model->qp, row->head, size);
	model->one = *row;
	return true;
}

bool top_model_open(struct top_model *model, uint64_t id)
{
	switch (model->level) {
	case TOP_PROCESSES:
		model->process = process_by_pid(model, id);
		if (!model->process)
			return false;
		break;
	case TOP_QPS:
		if (!qp_open(model, id))
			return false;
		break;
	case TOP_QP:
		return false;
	}
	model->level++;
	sample_forget(model);
	return true;
}

bool top_model_close(struct top_model *model)
{
	if (model->level == TOP_PROCESSES)
		return false;
	if (model->level == TOP_QP) {
		free(model->qp);
		model->qp = NULL;
	} else {
		model->process = NULL;
		rows_free(&model->rows);
		view_free(&model->view);
	}
	model->level--;
	sample_forget(model);
	return true;
}

void top_model_name(const struct top_model *model, char *ret_name, size_t size)
{
	const struct process *process = model->process;

	if (model->level == TOP_PROCESSES)
		snprintf(ret_name, size, "processes: %zu", model->list.cnt);
	else if (model->level == TOP_QPS)
		snprintf(ret_name, size, "%d %s, QPs: %zu", process->pid,
			 process->stat.program, model->rows.cnt);
	else
		snprintf(ret_name, size, "%d %s, QP 0x%06x", process->pid,
			 process->stat.program, model->qp->head.id);
}

/* ---- a sample ------------------------------------------------------------ */

static size_t item_cnt(const struct top_model *model)
{
	switch (model->level) {
	case TOP_QPS:
		return model->rows.cnt;
	case TOP_QP:
		return fields_of(USIW_RES_QP)->field_cnt;
	case TOP_PROCESSES:
		break;
	}
	return model->list.cnt;
}

static struct counts item_counts(const struct top_model *model, size_t i,
				 const void **ret_ref)
{
	switch (model->level) {
	case TOP_QPS:
		*ret_ref = model->rows.at[i].head;
		return qp_counts(*ret_ref);
	case TOP_QP:
		*ret_ref = model->qp;
		return field_counts(model, i);
	case TOP_PROCESSES:
		break;
	}
	*ret_ref = model->list.at[i];
	return process_counts(*ret_ref);
}

/* Fields that are in tables only, and say the same as others, are left out. */
static bool item_is_shown(const struct top_model *model, size_t i)
{
	return model->level != TOP_QP || fields_of(USIW_RES_QP)->field[i].name;
}

static int items_take(struct top_model *model)
{
	struct sample now = { .ns = util_clock_ns(CLOCK_MONOTONIC) };
	size_t cnt = item_cnt(model), at = 0;
	struct top_row *row;

	row = realloc(model->row, (cnt + 1) * sizeof(*row));
	if (row)
		model->row = row;
	now.at = malloc((cnt + 1) * sizeof(*now.at));
	if (!row || !now.at) {
		free(now.at);
		return -ENOMEM;
	}
	model->row_cnt = 0;
	for (size_t i = 0; i < cnt; i++) {
		struct counts *counts = &now.at[now.cnt++];
		const void *ref;

		*counts = item_counts(model, i, &ref);
		if (!item_is_shown(model, i))
			continue;
		row[model->row_cnt++] = (struct top_row){
			.id = counts->id,
			.ref = ref,
			.rate = rate_since(&model->last, &at, counts, now.ns),
		};
	}
	free(model->last.at);
	model->last = now;
	return 0;
}

static int process_order(const void *left, const void *right)
{
	const struct process *const *a = left, *const *b = right;

	return (*a)->pid<(*b)->pid ? -1 : (*a)->pid>(*b)->pid;
}

static int processes_look(struct top_model *model)
{
	int ret;

	process_list_refresh(&model->list, false);
	ret = process_find(&model->list, 0);
	if (ret == 0 && model->list.cnt)
		qsort(model->list.at, model->list.cnt, sizeof(*model->list.at),
		      process_order);
	return ret;
}

/* Return: -ENOENT: the process has ended. */
static int qps_look(struct top_model *model)
{
	struct util_stat *stat = &model->process->stat;
	int ret = process_refresh(model->process);

	if (ret < 0 || model->process->has_ended)
		return -ENOENT;
	rows_free(&model->rows);
	view_free(&model->view);
	ret = view_read(stat, &model->view);
	if (ret == 0)
		ret = rows_read(stat, USIW_RES_QP, &model->rows);
	return ret;
}

/* Only this queue pair is copied. */
static int qp_look(struct top_model *model)
{
	struct util_stat *stat = &model->process->stat;
	int ret = process_refresh(model->process);

	if (ret < 0 || model->process->has_ended)
		return -ENOENT;
	return util_stat_again(stat, USIW_RES_QP, model->one.place, model->qp);
}

static int level_look(struct top_model *model)
{
	switch (model->level) {
	case TOP_QPS:
		return qps_look(model);
	case TOP_QP:
		return qp_look(model);
	case TOP_PROCESSES:
		break;
	}
	return processes_look(model);
}

int top_model_sample(struct top_model *model)
{
	int ret = level_look(model), above;

	if (ret == -ENOENT && model->level != TOP_PROCESSES) {
		(void)top_model_close(model);
		above = top_model_sample(model);
		return above < 0 ? above : -ENOENT;
	}
	return ret < 0 ? ret : items_take(model);
}

struct top_rate top_model_sum(const struct top_model *model)
{
	struct top_rate sum = { 0 };

	if (model->level == TOP_QP)
		return sum;
	for (size_t i = 0; i < model->row_cnt; i++) {
		sum.tx_octets += model->row[i].rate.tx_octets;
		sum.rx_octets += model->row[i].rate.rx_octets;
		sum.tx_messages += model->row[i].rate.tx_messages;
		sum.rx_messages += model->row[i].rate.rx_messages;
	}
	return sum;
}

/* ---- sorted -------------------------------------------------------------- */

static int key_order(const void *left, const void *right, void *arg)
{
	const struct sort_key *a = left, *b = right;
	int order = cell_compare(&a->cell, &b->cell);

	/* Rows that are equal keep their places. */
	if (!order)
		return a->row.id < b->row.id ? -1 : a->row.id > b->row.id;
	return *(const bool *)arg ? -order : order;
}

static bool row_matches(const struct top_model *model,
			const struct top_row *row, const char *filter)
{
	char buf[CELL_TEXT_LEN];
	struct cell cell;
	size_t cnt;

	(void)top_model_columns(model, &cnt);
	for (size_t i = 0; i < cnt; i++) {
		top_model_cell(model, row, i, &cell);
		if (strcasestr(cell_text(&cell, buf), filter))
			return true;
	}
	return false;
}

/* Return: rows that have a key; 0: also out of memory. */
static size_t keys_make(struct top_model *model, size_t column,
			const char *filter)
{
	size_t cnt = 0;

	if (model->key_max < model->row_cnt) {
		free(model->key);
		model->key = malloc(model->row_cnt * sizeof(*model->key));
		model->key_max = model->key ? model->row_cnt : 0;
	}
	for (size_t i = 0; i < model->row_cnt && model->key; i++) {
		struct sort_key *key = &model->key[cnt];

		if (filter && *filter &&
		    !row_matches(model, &model->row[i], filter))
			continue;
		key->row = model->row[i];
		top_model_cell(model, &key->row, column, &key->cell);
		cnt++;
	}
	return cnt;
}

size_t top_model_sort(struct top_model *model, size_t column, bool is_reverse,
		      const char *filter)
{
	size_t columns, cnt = keys_make(model, column, filter);
	bool is_falling;

	is_falling = !top_model_columns(model, &columns)[column].is_text;
	is_falling ^= is_reverse;
	if (cnt && model->level != TOP_QP)
		qsort_r(model->key, cnt, sizeof(*model->key), key_order,
			&is_falling);
	return cnt;
}

const struct top_row *top_model_row(const struct top_model *model, size_t i)
{
	return &model->key[i].row;
}
