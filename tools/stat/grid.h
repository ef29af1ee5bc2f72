/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A table whose columns are as wide as what is in them. */
#ifndef STAT_GRID_H
#define STAT_GRID_H

#include <stddef.h>

#include "cell.h"

#define GRID_COLUMNS_MAX 24

/* Fills in the cells of a row.  Called twice for each. */
typedef void grid_row_fn(const void *arg, size_t row, struct cell *ret_cells);

/* Prints a line of titles, and the rows. */
void grid_print(const char *const *titles, size_t column_cnt, size_t row_cnt,
		grid_row_fn fill, const void *arg);

#endif
