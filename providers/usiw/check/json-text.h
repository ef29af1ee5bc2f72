/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* JSON that is written to memory, without allocating. */
#ifndef USIW_JSON_TEXT_H
#define USIW_JSON_TEXT_H

#include <stddef.h>

struct usiw_json_text {
	char *text;
	size_t size;
	size_t len; /* more than size: the rest is cut off */
};

/* As printf(3). */
void usiw_json_text_raw(struct usiw_json_text *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A string with its quotes.  Octets that are not printable ASCII become "?": a
 * cut of it stays valid UTF-8. */
void usiw_json_text_string(struct usiw_json_text *out, const char *string);

#endif
