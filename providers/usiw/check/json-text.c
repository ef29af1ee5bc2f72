/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See json-text.h. */
#include "json-text.h"

#include <stdarg.h>
#include <stdio.h>

void usiw_json_text_raw(struct usiw_json_text *out, const char *fmt, ...)
{
	size_t room = out->len < out->size ? out->size - out->len : 0;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(room ? out->text + out->len : NULL, room, fmt, args);
	va_end(args);
	if (len > 0)
		out->len += (size_t)len;
}

void usiw_json_text_string(struct usiw_json_text *out, const char *string)
{
	usiw_json_text_raw(out, "\"");
	for (; *string; string++) {
		if (*string == '"' || *string == '\\')
			usiw_json_text_raw(out, "\\%c", *string);
		else
			usiw_json_text_raw(
				out, "%c",
				*string < ' ' || *string > '~' ? '?' : *string);
	}
	usiw_json_text_raw(out, "\"");
}
