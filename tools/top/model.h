/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What usiw top shows: processes, the queue pairs of one process, one queue
 * pair.  Each has rows and columns; a row has rates since the last sample.
 */
#ifndef TOP_MODEL_H
#define TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "stat/cell.h"
#include "stat/fields.h"
#include "stat/process.h"

enum top_level { TOP_PROCESSES, TOP_QPS, TOP_QP };

/* Per second. */
struct top_rate {
	uint64_t tx_octets, rx_octets, tx_messages, rx_messages;
};

struct top_row {
	uint64_t id; /* of the process, the queue pair, or the field */
	const void *ref;
	struct top_rate rate;
};

struct top_column {
	const char *title;
	int width;
	bool is_text; /* left-aligned, and sorted from A on */
	void (*get)(const struct top_row *row, const struct view *view,
		    struct cell *ret_cell);
};

struct top_model;

/* Return: NULL: out of memory. */
struct top_model *top_model_new(void);
void top_model_free(struct top_model *model);

/*
 * Looks at what the level shows, and no more.
 * Return: 0; -ENOENT: the process, or the queue pair, has gone, and the level
 *   above is shown; other -errno.
 */
int top_model_sample(struct top_model *model);

enum top_level top_model_level(const struct top_model *model);

/* One level down, to the row with this id.  False: it has gone, or there is
 * none. */
bool top_model_open(struct top_model *model, uint64_t id);
/* One level up.  False: there is none. */
bool top_model_close(struct top_model *model);

/* What is open, for the headline: "4711 ib_write_bw, QP 0x000012". */
void top_model_name(const struct top_model *model, char *ret_name, size_t size);
/* The sum of all rows. */
struct top_rate top_model_sum(const struct top_model *model);

const struct top_column *top_model_columns(const struct top_model *model,
					   size_t *ret_cnt);

/*
 * Sorts the rows by a column: numbers from the largest on, texts from A on. The
 * fields of a queue pair have their order.
 * @filter: only rows with this text in a cell; NULL or empty: all.
 * Return: how many there are.
 */
size_t top_model_sort(struct top_model *model, size_t column, bool is_reverse,
		      const char *filter);
/* Valid until the rows are sorted again. */
const struct top_row *top_model_row(const struct top_model *model, size_t i);

void top_model_cell(const struct top_model *model, const struct top_row *row,
		    size_t column, struct cell *ret_cell);

#endif
