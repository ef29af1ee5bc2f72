/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See json.h. */
#include "json.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

#define REPLACEMENT "\xef\xbf\xbd"

/* The length of the UTF-8 sequence that @text may begin with. */
static size_t sequence_len(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xe0)
		return 2;
	return first < 0xf0 ? 3 : 4;
}

/* jansson decides what is UTF-8. */
static bool is_sequence(const char *text, size_t len)
{
	json_t *string = strnlen(text, len) == len ? json_stringn(text, len)
						   : NULL;

	json_decref(string);
	return string != NULL;
}

json_t *json_of_text(const char *text)
{
	json_t *string = text ? json_string(text) : NULL;
	char *clean, *end;

	if (string || !text)
		return string;
	clean = end = malloc(strlen(text) * (sizeof(REPLACEMENT) - 1) + 1);
	if (!clean)
		return NULL;
	while (*text) {
		size_t len = sequence_len((unsigned char)*text);

		if (is_sequence(text, len)) {
			memcpy(end, text, len);
			end += len;
			text += len;
		} else {
			memcpy(end, REPLACEMENT, sizeof(REPLACEMENT) - 1);
			end += sizeof(REPLACEMENT) - 1;
			text++;
		}
	}
	*end = '\0';
	string = json_string(clean);
	free(clean);
	return string;
}

int json_print(const char *command, json_t *root)
{
	if (!root) {
		fprintf(stderr, "usiw: %s: out of memory\n", command);
		return 1;
	}
	/* What fails is seen at the end of the output. */
	(void)json_dumpf(root, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(root);
	return output_end(command);
}
