/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A string of JSON in a text. */
#ifndef USIW_JSON_TEXT_H
#define USIW_JSON_TEXT_H

struct util_text;

/* A string with its quotes.  Octets that are not printable ASCII become "?": a
 * cut of it stays valid UTF-8. */
void usiw_json_text_string(struct util_text *text, const char *string);

#endif
