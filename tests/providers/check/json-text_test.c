/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* JSON in memory of a fixed size. */
#include "test.h"
#include "case.h"
#include "providers/usiw/check/json-text.h"

#include <string.h>

CASE(quotes_what_json_does_not_take)
{
	char text[64] = "";
	struct usiw_json_text out = { .text = text, .size = sizeof(text) };

	usiw_json_text_raw(&out, "%d,", 7);
	usiw_json_text_string(&out, "a\"b\\c\nd\xc3\xa9");
	assert_string_equal(text, "7,\"a\\\"b\\\\c?d??\"");
	assert_int_equal(out.len, strlen(text));
}

CASE(counts_what_is_cut_off)
{
	char text[4] = "";
	struct usiw_json_text out = { .text = text, .size = sizeof(text) };

	usiw_json_text_string(&out, "abcdef");
	assert_string_equal(text, "\"ab");
	assert_int_equal(out.len, 8);
}
