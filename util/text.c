/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See text.h. */
#include "text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define END "..."

void util_text_add(struct util_text *text, const char *format, ...)
{
	size_t room = text->size - text->len;
	va_list args;
	int len;

	if (text->is_cut || text->size < sizeof(END))
		return;
	va_start(args, format);
	len = vsnprintf(text->buf + text->len, room, format, args);
	va_end(args);
	if (len >= 0 && (size_t)len < room) {
		text->len += (size_t)len;
		return;
	}
	text->is_cut = true;
	text->len = text->size - 1;
	memcpy(text->buf + text->size - sizeof(END), END, sizeof(END));
}

const char *util_text_name(const struct util_text_name *names, uint64_t value)
{
	while (names->name && names->value != value)
		names++;
	return names->name;
}

void util_text_add_name(struct util_text *text,
			const struct util_text_name *names, uint64_t value)
{
	const char *name = util_text_name(names, value);

	if (name)
		util_text_add(text, "%s", name);
	else
		util_text_add(text, "%" PRIu64, value);
}

void util_text_add_flags(struct util_text *text,
			 const struct util_text_name *names, uint64_t value)
{
	const char *between = "";

	for (; names->name; names++) {
		if (!names->value || (value & names->value) != names->value)
			continue;
		util_text_add(text, "%s%s", between, names->name);
		between = "|";
		value &= ~names->value;
	}
	if (value || !*between)
		util_text_add(text, "%s%#" PRIx64, between, value);
}
