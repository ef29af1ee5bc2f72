/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See json-text.h. */
#include "json-text.h"

#include "util/text.h"

void usiw_json_text_string(struct util_text *text, const char *string)
{
	util_text_add(text, "\"");
	for (; *string; string++) {
		if (*string == '"' || *string == '\\')
			util_text_add(text, "\\%c", *string);
		else
			util_text_add(text, "%c",
				      *string < ' ' || *string > '~' ? '?'
								     : *string);
	}
	util_text_add(text, "\"");
}
