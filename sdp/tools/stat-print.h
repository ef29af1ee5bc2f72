/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Statistics as a table, and as JSON. */
#ifndef STAT_PRINT_H
#define STAT_PRINT_H

#include <stdio.h>

#include "tools/stat-find.h"

void stat_print_table(FILE *out, const struct stat_list *list);

/* One object on one line: { "processes": [ ... ] }, see sdpstat(1). */
void stat_print_json(FILE *out, const struct stat_list *list);

#endif
