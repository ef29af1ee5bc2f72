/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Suppressions: findings that the user knows of.  A line of a file is a rule
 * and what a frame of the finding has to match:
 *
 *   # comment
 *   RULE [function=PATTERN] [module=PATTERN] [file=PATTERN]
 *
 * RULE and PATTERN are patterns of fnmatch(3).
 */
#ifndef SUPPRESS_H
#define SUPPRESS_H

#include <jansson.h>
#include <stdbool.h>

struct suppressions;

/* NULL: no memory. */
struct suppressions *suppressions_new(void);
void suppressions_free(struct suppressions *suppressions);

/* Adds those of a file.  Return: 0; -1: the reason is on stderr. */
int suppressions_read(struct suppressions *suppressions, const char *path);

/* @finding: with the names of its frames. */
bool suppressions_match(const struct suppressions *suppressions,
			const json_t *finding);

#endif
