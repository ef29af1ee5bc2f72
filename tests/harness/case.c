/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The main() of programs whose cases register themselves. An argument selects
 * those whose name matches it; * and ? are wildcards.
 */
#include <stdio.h>
#include <stdlib.h>

#include "test.h"

#define CASE_MAX 128

static struct CMUnitTest cases[CASE_MAX];
static int orders[CASE_MAX];
static size_t case_cnt;
static void (*begin_cases)(int argc, char **argv);
static CMFixtureFunction group_setup, group_teardown;

static void refuse(const char *what)
{
	fprintf(stderr, "case.c: %s\n", what);
	abort();
}

void case_add(int order, const struct CMUnitTest *test)
{
	size_t at = case_cnt++;

	if (at == CASE_MAX)
		refuse("more cases than CASE_MAX");
	for (; at > 0 && orders[at - 1] > order; at--) {
		cases[at] = cases[at - 1];
		orders[at] = orders[at - 1];
	}
	cases[at] = *test;
	orders[at] = order;
}

void case_begin(void (*begin)(int argc, char **argv))
{
	if (begin_cases)
		refuse("BEFORE_CASES twice");
	begin_cases = begin;
}

void case_group(CMFixtureFunction setup, CMFixtureFunction teardown)
{
	if (group_setup || group_teardown)
		refuse("ALL_CASES_WITH twice");
	group_setup = setup;
	group_teardown = teardown;
}

int main(int argc, char **argv)
{
	if (begin_cases)
		begin_cases(argc, argv);
	if (case_cnt == 0)
		refuse("no case");
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	/* What cmocka_run_group_tests() calls, which wants an array whose size
	 * the compiler knows. */
	return _cmocka_run_group_tests("tests", cases, case_cnt, group_setup,
				       group_teardown);
}
