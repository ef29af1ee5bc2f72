/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Texts of processes that are not trusted. */
#ifndef UTIL_PLAIN_TEXT_H
#define UTIL_PLAIN_TEXT_H

#include <stddef.h>
#include <string.h>

/* @c, or '?' if it is no printable ASCII: a terminal would act on it. */
static inline char util_plain_char(char c)
{
	return c < 0x20 || c > 0x7e ? '?' : c;
}

/* Ends the text within its @size octets, and makes all of it plain. */
static inline void util_plain_text(char *text, size_t size)
{
	text[size - 1] = '\0';
	for (; *text; text++)
		*text = util_plain_char(*text);
}

#endif
