/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Strings of JSON. */
#include "test.h"
#include "case.h"
#include "providers/usiw/check/json-text.h"
#include "util/text.h"

#include <string.h>

CASE(quotes_what_json_does_not_take)
{
	char text[64] = "";
	struct util_text out = { .buf = text, .size = sizeof(text) };

	util_text_add(&out, "%d,", 7);
	usiw_json_text_string(&out, "a\"b\\c\nd\xc3\xa9");
	assert_string_equal(text, "7,\"a\\\"b\\\\c?d??\"");
	assert_int_equal(out.len, strlen(text));
}

CASE(says_that_it_is_cut_off)
{
	char text[4] = "";
	struct util_text out = { .buf = text, .size = sizeof(text) };

	usiw_json_text_string(&out, "abcdef");
	assert_true(out.is_cut);
	assert_string_equal(text, "...");
}
