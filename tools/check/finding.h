/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Findings of usiw check: read from the lines that processes write
 * (providers/usiw/check/report.h), each once, and printed.
 */
#ifndef FINDING_H
#define FINDING_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct findings;

/* NULL: no memory. */
struct findings *findings_new(void);
void findings_free(struct findings *findings);

/* Reads suppressions.  Return: 0; -1: the reason is on stderr. */
int findings_suppress(struct findings *findings, const char *path);

/* Each finding is printed there as it comes. */
void findings_print_to(struct findings *findings, FILE *out);

/* Takes a line, which a process may have broken: then it has no effect. */
void findings_take(struct findings *findings, const char *line, size_t len);

/* The number of findings, without notes and without suppressed ones. */
size_t findings_cnt(const struct findings *findings);

/* Prints the counts. */
void findings_end(const struct findings *findings, FILE *out);

/* All of them.  NULL: no memory. */
json_t *findings_json(const struct findings *findings);

#endif
