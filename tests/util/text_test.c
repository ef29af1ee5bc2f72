/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Texts: they are cut, never longer than their buffer; names and flags. */
#include "test.h"

#include <string.h>

#include "util/text.h"

static const struct util_text_name names[] = {
	{ 1, "ONE" }, { 2, "TWO" }, { 4, "FOUR" }, { 0, NULL }
};

CASE(adds_until_the_buffer_is_full)
{
	char buf[9];
	struct util_text text = { .buf = buf, .size = sizeof(buf) };

	util_text_add(&text, "%d, ", 12);
	util_text_add(&text, "abcd");
	assert_string_equal(buf, "12, abcd");
	assert_false(text.is_cut);
	util_text_add(&text, "e");
	assert_string_equal(buf, "12, a...");
	assert_int_equal(text.len, 8);
	util_text_add(&text, "more");
	assert_string_equal(buf, "12, a...");
	assert_true(text.is_cut);
}

CASE(a_buffer_without_room_is_left_alone)
{
	char buf[4] = "abc";

	for (size_t size = 0; size < sizeof(buf); size++) {
		struct util_text text = { .buf = buf, .size = size };

		util_text_add(&text, "xyz");
		assert_string_equal(buf, "abc");
		assert_int_equal(text.len, 0);
	}
}

CASE(a_value_has_a_name_or_none)
{
	assert_string_equal(util_text_name(names, 4), "FOUR");
	assert_null(util_text_name(names, 3));
	assert_null(util_text_name(names, 0));
}

CASE(names_values_and_bits)
{
	static const struct {
		uint64_t value;
		const char *name, *flags;
	} rows[] = {
		{ 0, "0", "0" },
		{ 1, "ONE", "ONE" },
		{ 3, "3", "ONE|TWO" },
		{ 0x14, "20", "FOUR|0x10" },
		{ 0x10, "16", "0x10" },
		{ UINT64_MAX, "18446744073709551615",
		  "ONE|TWO|FOUR|0xfffffffffffffff8" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char name[64] = "", flags[64] = "";
		struct util_text text = { .buf = name, .size = sizeof(name) };

		util_text_add_name(&text, names, rows[i].value);
		assert_string_equal(name, rows[i].name);
		text = (struct util_text){ .buf = flags,
					   .size = sizeof(flags) };
		util_text_add_flags(&text, names, rows[i].value);
		assert_string_equal(flags, rows[i].flags);
	}
}
