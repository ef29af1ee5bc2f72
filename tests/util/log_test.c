/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Log lines: what is printed, how, and that errno survives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "child.h"
#include "log.h"

static void takes_levels_and_parts_and_nothing_else(void **state)
{
	static const struct {
		const char *spec;
		bool is_valid;
	} cases[] = {
		{ "none", true },
		{ "error", true },
		{ "warn", true },
		{ "info", true },
		{ "debug", true },
		{ "debug:cm", true },
		{ "info:cm,rnic", true },
		{ "info:mpa,rnic,cm,verbs,kabi,sdp", true },
		{ "", false },
		{ "err", false },
		{ "errors", false },
		{ "debug:", false },
		{ "debug:nowhere", false },
		{ "debug:cm,", false },
		{ "debug,cm", false },
		{ ":cm", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(util_log_spec_is_valid(cases[i].spec),
				 cases[i].is_valid);
}

static int print_four(void *spec)
{
	setenv("USIW_LOG", spec, 1);
	errno = EXDEV;
	util_err("cm", "id %d: %s", 7, "went");
	util_warn("cm", "w");
	util_info("rnic", "i");
	util_debug("rnic", "d");
	return errno == EXDEV ? 0 : 1;
}

static void prints_what_level_and_part_ask_for(void **state)
{
	static const struct {
		const char *spec, *out;
	} cases[] = {
		{ "none", "" },
		{ "error", "usiw: cm: error: id 7: went\n" },
		{ "warn", "usiw: cm: error: id 7: went\nusiw: cm: warn: w\n" },
		{ "debug:rnic", "usiw: rnic: info: i\nusiw: rnic: debug: d\n" },
		{ "info:rnic", "usiw: rnic: info: i\n" },
		{ "debug:mpa", "" },
	};
	char err[512];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(child_run(print_four,
					   (void *)(uintptr_t)cases[i].spec,
					   err, sizeof(err)),
				 0);
		assert_string_equal(err, cases[i].out);
	}
}

static int print_long(void *arg)
{
	char text[2000];

	(void)arg;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	util_log_print(UTIL_LOG_ERROR, "mpa", "%s", text);
	return 0;
}

static void cuts_long_lines_and_ends_them(void **state)
{
	char err[4096];

	(void)state;
	assert_int_equal(child_run(print_long, NULL, err, sizeof(err)), 0);
	assert_int_equal(strlen(err), 511);
	assert_int_equal(err[510], '\n');
	assert_int_equal(err[509], 'x');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_levels_and_parts_and_nothing_else),
		cmocka_unit_test(prints_what_level_and_part_ask_for),
		cmocka_unit_test(cuts_long_lines_and_ends_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
