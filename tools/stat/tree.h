/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What usiw stat prints for scripts.  man/usiw-stat.1 describes the JSON. */
#ifndef STAT_TREE_H
#define STAT_TREE_H

#include "filter.h"
#include "json.h"
#include "process.h"

/* The whole document. NULL: out of memory, or a page cannot be read. */
json_t *tree_make(const struct process_list *list, const struct filter *filter);

#endif
