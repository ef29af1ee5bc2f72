/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See grid.h. */
#include "grid.h"

#include <stdio.h>
#include <string.h>

struct column {
	int width;
	bool is_left; /* it has texts */
};

static void column_measure(struct column *column, const struct cell *cell)
{
	char buf[CELL_TEXT_LEN];
	int len = (int)strlen(cell_text(cell, buf));

	if (len > column->width)
		column->width = len;
	if (cell->type != CELL_NONE && !cell_is_number(cell->type))
		column->is_left = true;
}

static void text_put(const struct column *column, const char *text,
		     bool is_last)
{
	if (!column->is_left)
		printf("%*s", column->width, text);
	else
		printf("%-*s", is_last ? 0 : column->width, text);
	fputs(is_last ? "\n" : "  ", stdout);
}

void grid_print(const char *const *titles, size_t column_cnt, size_t row_cnt,
		grid_row_fn fill, const void *arg)
{
	struct column column[GRID_COLUMNS_MAX] = { { 0 } };
	struct cell cell[GRID_COLUMNS_MAX];
	char buf[CELL_TEXT_LEN];

	for (size_t k = 0; k < column_cnt; k++)
		column[k].width = (int)strlen(titles[k]);
	for (size_t i = 0; i < row_cnt; i++) {
		fill(arg, i, cell);
		for (size_t k = 0; k < column_cnt; k++)
			column_measure(&column[k], &cell[k]);
	}
	for (size_t k = 0; k < column_cnt; k++)
		text_put(&column[k], titles[k], k + 1 == column_cnt);
	for (size_t i = 0; i < row_cnt; i++) {
		fill(arg, i, cell);
		for (size_t k = 0; k < column_cnt; k++)
			text_put(&column[k], cell_text(&cell[k], buf),
				 k + 1 == column_cnt);
	}
}
