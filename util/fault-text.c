/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See fault-text.h. */
#include "fault-text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "near.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n';
}

struct util_fault_span util_fault_span_trim(const struct util_fault_text *text,
					    struct util_fault_span span)
{
	while (span.from < span.to && is_blank(text->text[span.from]))
		span.from++;
	while (span.from < span.to && is_blank(text->text[span.to - 1]))
		span.to--;
	return span;
}

bool util_fault_span_is(const struct util_fault_text *text,
			struct util_fault_span span, const char *word)
{
	return strlen(word) == util_fault_span_len(span) &&
	       memcmp(text->text + span.from, word,
		      util_fault_span_len(span)) == 0;
}

size_t util_fault_span_find(const struct util_fault_text *text,
			    struct util_fault_span span, char end)
{
	const char *found =
		memchr(text->text + span.from, end, util_fault_span_len(span));

	return found ? (size_t)(found - text->text) : span.to;
}

const char *util_fault_span_near(const struct util_fault_text *text,
				 struct util_fault_span span,
				 const char *(*name)(size_t num), size_t cnt)
{
	return util_fault_span_len(span) < 3
		       ? NULL
		       : util_near(text->text + span.from,
				   util_fault_span_len(span), name, cnt);
}

bool util_fault_wrong(const struct util_fault_text *text, size_t at,
		      const char *fmt, ...)
{
	va_list args;

	text->error->at = at;
	va_start(args, fmt);
	vsnprintf(text->error->what, sizeof(text->error->what), fmt, args);
	va_end(args);
	return false;
}

bool util_fault_wrong_word(const struct util_fault_text *text,
			   struct util_fault_span span, const char *what,
			   const char *near, const char *hint)
{
	return util_fault_wrong(text, span.from, "no such %s; %s%s%s", what,
				near ? "is " : "", near ? near : hint,
				near ? " meant?" : "");
}

/* Characters before the error, and in all, that are shown. */
#define SHOWN_BEFORE 48
#define SHOWN_CNT 72

_Static_assert(2 * SHOWN_CNT + 4 <= UTIL_FAULT_SHOWN_MAX, "two lines");

void util_fault_error_show(const char *text,
			   const struct util_fault_error *error,
			   char ret_lines[UTIL_FAULT_SHOWN_MAX])
{
	size_t from = error->at > SHOWN_BEFORE ? error->at - SHOWN_BEFORE : 0;
	size_t len = strlen(text + from);
	char *out = ret_lines;

	if (len > SHOWN_CNT)
		len = SHOWN_CNT;
	for (size_t i = from; i < from + len; i++)
		*out++ = isprint((unsigned char)text[i]) ? text[i] : '?';
	*out++ = '\n';
	for (size_t i = from; i < error->at; i++)
		*out++ = ' ';
	memcpy(out, "^\n", 3);
}
