/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Parts of a text, and how an error in it is shown. */
#include "test.h"

#include <string.h>

#include "util/fault-text.h"

CASE(trims_finds_and_compares)
{
	struct util_fault_error error;
	const struct util_fault_text text = { " \tab cd\n ; x", &error };
	struct util_fault_span all = { 0, strlen(text.text) };
	struct util_fault_span part = { 0,
					util_fault_span_find(&text, all, ';') };

	assert_int_equal(part.to, 9);
	part = util_fault_span_trim(&text, part);
	assert_true(util_fault_span_is(&text, part, "ab cd"));
	assert_false(util_fault_span_is(&text, part, "ab c"));
	assert_false(util_fault_span_is(&text, part, "ab cde"));
	assert_int_equal(util_fault_span_find(&text, part, ';'), part.to);
	part = util_fault_span_trim(&text, (struct util_fault_span){ 7, 9 });
	assert_int_equal(util_fault_span_len(part), 0);
}

CASE(notes_what_is_wrong)
{
	struct util_fault_error error;
	const struct util_fault_text text = { "ab", &error };
	struct util_fault_span span = { 1, 2 };
	char many[300];

	assert_false(util_fault_wrong(&text, 1, "%s %d", "number", 7));
	assert_int_equal(error.at, 1);
	assert_string_equal(error.what, "number 7");
	assert_false(util_fault_wrong_word(&text, span, "word", "b", "use c"));
	assert_string_equal(error.what, "no such word; is b meant?");
	assert_false(util_fault_wrong_word(&text, span, "word", NULL, "use c"));
	assert_string_equal(error.what, "no such word; use c");
	memset(many, 'x', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	assert_false(util_fault_wrong(&text, 0, "%s", many));
	assert_int_equal(strlen(error.what), sizeof(error.what) - 1);
}

static void shown_is(const char *text, size_t at, const char *expected)
{
	const struct util_fault_error error = { .at = at };
	char lines[UTIL_FAULT_SHOWN_MAX];

	util_fault_error_show(text, &error, lines);
	assert_string_equal(lines, expected);
}

CASE(shows_the_place_with_a_caret)
{
	shown_is("abc", 0, "abc\n^\n");
	shown_is("abc", 2, "abc\n  ^\n");
	shown_is("abc", 3, "abc\n   ^\n");
	shown_is("", 0, "\n^\n");
	shown_is("a\tb\x01\xc3\xa4", 2, "a?b???\n  ^\n");
}

CASE(shows_a_part_of_a_long_text)
{
	char text[1000], lines[UTIL_FAULT_SHOWN_MAX];
	const char *caret;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	text[500] = 'E';
	for (size_t at = 0; at < sizeof(text); at++) {
		const struct util_fault_error error = { .at = at };

		util_fault_error_show(text, &error, lines);
		caret = strchr(lines, '^');
		assert_non_null(caret);
		assert_string_equal(caret, "^\n");
		if (at == 500)
			assert_int_equal(lines[caret - strchr(lines, '\n') - 1],
					 'E');
	}
}
