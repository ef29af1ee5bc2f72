/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The syntax of USIW_LOG. */
#include "test.h"

#include <string.h>

#include "util/log-spec.h"

#define PART_CNT 7

static uint32_t bit(const char *part)
{
	int idx = util_log_part(part);

	assert_in_range(idx, 0, UTIL_LOG_PART_MAX - 1);
	return 1u << idx;
}

CASE(takes_levels_and_parts)
{
	static const struct {
		const char *text;
		enum util_log_level level;
		const char *parts[PART_CNT];
	} cases[] = {
		{ "none",
		  UTIL_LOG_NONE,
		  { "mpa", "rnic", "cm", "verbs", "kabi", "sdp", "tool" } },
		{ "error",
		  UTIL_LOG_ERROR,
		  { "mpa", "rnic", "cm", "verbs", "kabi", "sdp", "tool" } },
		{ "warn:tool", UTIL_LOG_WARN, { "tool" } },
		{ "info:cm,rnic", UTIL_LOG_INFO, { "cm", "rnic" } },
		{ "info:cm,cm", UTIL_LOG_INFO, { "cm" } },
		{ "debug:mpa,verbs,kabi,sdp",
		  UTIL_LOG_DEBUG,
		  { "mpa", "verbs", "kabi", "sdp" } },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct util_log_spec spec;
		uint32_t parts = 0;

		for (size_t n = 0; n < PART_CNT && cases[i].parts[n]; n++)
			parts |= bit(cases[i].parts[n]);
		assert_true(util_log_spec_parse(cases[i].text, &spec));
		assert_int_equal(spec.level, cases[i].level);
		assert_int_equal(spec.parts, parts);
	}
}

CASE(refuses_other_texts)
{
	static const char *const texts[] = {
		"",	     "err",	 "errors",    "debug:", "debug:nowhere",
		"debug:cm,", "debug,cm", "debug:cm:", ":cm",	"Debug",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct util_log_spec spec = { UTIL_LOG_WARN, 5 };

		assert_false(util_log_spec_parse(texts[i], &spec));
		assert_int_equal(spec.level, UTIL_LOG_WARN);
		assert_int_equal(spec.parts, 5);
	}
}

CASE(names_parts_and_levels)
{
	assert_int_equal(util_log_part("nowhere"), -1);
	assert_int_equal(util_log_part(""), -1);
	assert_int_not_equal(util_log_part("cm"), util_log_part("rnic"));
	assert_string_equal(util_log_level_name(UTIL_LOG_WARN), "warn");
	assert_string_equal(util_log_level_name((enum util_log_level)99), "?");
}
