/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See near.h. */
#include "near.h"

#include <string.h>

/* The largest number of edits of a mistyped word.  For a short one it is
 * one. */
#define EDIT_MAX 2
#define SHORT_LEN 10
#define WORD_MAX_LEN 63

/* The number of letters to add, remove or change to get @b from @a. */
static size_t edit_distance(const char *a, size_t a_len, const char *b)
{
	size_t b_len = strlen(b);
	size_t row[WORD_MAX_LEN + 1];

	if (a_len > WORD_MAX_LEN || b_len > WORD_MAX_LEN)
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

const char *util_near(const char *word, size_t len,
		      const char *(*name)(size_t num), size_t cnt)
{
	size_t least = (len < SHORT_LEN ? 1 : EDIT_MAX) + 1;
	const char *near = NULL;

	for (size_t i = 0; i < cnt; i++) {
		const char *known = name(i);
		size_t edits = known ? edit_distance(word, len, known) : least;

		if (edits < least) {
			least = edits;
			near = known;
		}
	}
	return least > 0 ? near : NULL;
}
