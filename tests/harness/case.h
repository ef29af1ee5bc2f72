/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Cases of a cmocka program that register themselves. Nothing lists them, so
 * none can be left out: case.c runs whatever the program contains, in the order
 * of the source, and has main(). A program with a main() of its own lists its
 * cases as cmocka describes, and does not link if it has one of these.
 */
#ifndef TEST_CASE_H
#define TEST_CASE_H

#include <limits.h>

/* Runs the cases by rising @order. */
void case_add(int order, const struct CMUnitTest *test);

/* Before all cases, with the arguments of main(). */
void case_begin(void (*begin)(int argc, char **argv));

/* cmocka's functions for the whole group. */
void case_group(CMFixtureFunction setup, CMFixtureFunction teardown);

#define CASE_ADD(order, name, setup, teardown)                                 \
	static void name(void **state);                                        \
	__attribute__((constructor)) static void case_add_##name(void)         \
	{                                                                      \
		const struct CMUnitTest test =                                 \
			cmocka_unit_test_setup_teardown(name, setup,           \
							teardown);             \
                                                                               \
		case_add(order, &test);                                        \
	}                                                                      \
	static void name(void **state)

/* CASE(name) { ... } is a case. It has the parameter void **state. Compilers do
 * not promise the order of constructors, hence the counter. */
#define CASE(name) CASE_WITH(name, NULL, NULL)
#define CASE_WITH(name, setup, teardown)                                       \
	CASE_ADD(__COUNTER__, name, setup, teardown)

/* A case that needs the process as it begins: without threads, or before the
 * settings are read. It runs before the others. */
#define FIRST_CASE(name) FIRST_CASE_WITH(name, NULL, NULL)
#define FIRST_CASE_WITH(name, setup, teardown)                                 \
	CASE_ADD(INT_MIN + __COUNTER__, name, setup, teardown)

/* BEFORE_CASES() { ... } runs first in main(), for example to set what usiw
 * reads from the environment. It has main()'s argc and argv. */
#define BEFORE_CASES()                                                         \
	static void before_cases(int argc, char **argv);                       \
	__attribute__((constructor)) static void case_begin_here(void)         \
	{                                                                      \
		case_begin(before_cases);                                      \
	}                                                                      \
	static void before_cases(int argc, char **argv)

/* ALL_CASES_WITH(setup, teardown); has cmocka's fixture of the whole group. */
#define ALL_CASES_WITH(setup, teardown)                                        \
	__attribute__((constructor)) static void case_group_here(void)         \
	{                                                                      \
		case_group(setup, teardown);                                   \
	}                                                                      \
	static void case_group_here(void)

#endif
