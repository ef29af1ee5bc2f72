/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See setting.h. */
#define _GNU_SOURCE /* environ */
#include "setting.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../util/env.h"

#define PREFIX "USIW_"
/* The largest number of edits of a mistyped name.  For a short name it is one.
 */
#define EDIT_MAX 2
#define SHORT_LEN 10
#define NAME_MAX_LEN 63

/* The number of letters to add, remove or change to get @b from @a. */
static size_t edit_distance(const char *a, size_t a_len, const char *b)
{
	size_t b_len = strlen(b);
	size_t row[NAME_MAX_LEN + 1];

	if (a_len > NAME_MAX_LEN || b_len > NAME_MAX_LEN)
		return EDIT_MAX + 1;
	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[b_len];
}

static void name_warn(const char *name, size_t len)
{
	const char *near = NULL;
	size_t least = (len < SHORT_LEN ? 1 : EDIT_MAX) + 1;

	for (size_t i = 0; i < util_setting_cnt; i++) {
		const char *known = util_setting_docs[i].name;
		size_t edits = edit_distance(name, len, known);

		if (edits < least) {
			least = edits;
			near = known;
		}
	}
	if (near && least > 0)
		fprintf(stderr,
			"usiw: environment: %.*s is not a setting and has no "
			"effect; is %s meant?\n",
			(int)len, name, near);
}

void setting_warn_mistyped(void)
{
	for (char **entry = environ; *entry; entry++)
		if (strncmp(*entry, PREFIX, strlen(PREFIX)) == 0)
			name_warn(*entry, strcspn(*entry, "="));
}
