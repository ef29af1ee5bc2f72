/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parts of a fault specification's text, and what is wrong there. */
#ifndef UTIL_FAULT_TEXT_H
#define UTIL_FAULT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct util_fault_error {
	size_t at; /* the character of the text; its length: behind the last */
	char what[200];
};

/**
 * util_fault_error_show - the text of an error in two lines
 * @text: what was parsed.
 * @ret_lines: the part of it around the error, and below it a caret; each line
 *   ends with a newline.  Characters that cannot be printed are "?".
 */
#define UTIL_FAULT_SHOWN_MAX 160
void util_fault_error_show(const char *text,
			   const struct util_fault_error *error,
			   char ret_lines[UTIL_FAULT_SHOWN_MAX]);

struct util_fault_text {
	const char *text;
	struct util_fault_error *error;
};

/* [from, to) of the text. */
struct util_fault_span {
	size_t from, to;
};

static inline size_t util_fault_span_len(struct util_fault_span span)
{
	return span.to - span.from;
}

/* Without the blanks around it. */
struct util_fault_span util_fault_span_trim(const struct util_fault_text *text,
					    struct util_fault_span span);

bool util_fault_span_is(const struct util_fault_text *text,
			struct util_fault_span span, const char *word);

/* Where the first @end in it is; span.to: there is none. */
size_t util_fault_span_find(const struct util_fault_text *text,
			    struct util_fault_span span, char end);

/* util_near() for it; NULL also for two letters, which are near to
 * everything. */
const char *util_fault_span_near(const struct util_fault_text *text,
				 struct util_fault_span span,
				 const char *(*name)(size_t num), size_t cnt);

/* Notes what is wrong at @at.  Return: false. */
bool util_fault_wrong(const struct util_fault_text *text, size_t at,
		      const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Notes "no such WHAT; is NEAR meant?", or without @near "no such WHAT;
 * HINT".  Return: false. */
bool util_fault_wrong_word(const struct util_fault_text *text,
			   struct util_fault_span span, const char *what,
			   const char *near, const char *hint);

#endif
