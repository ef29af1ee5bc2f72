/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The table against the TCP of this kernel, over loopback. */
#include "test.h"

#include "cases/answer.h"
#include "cases/show.h"

static void answers_as_tcp_does(void **state)
{
	(void)state;
	for (size_t i = 0; i < answer_state_cnt; i++)
		for (size_t j = 0; j < answer_call_cnt; j++)
			answer_check(&answer_states[i], &answer_calls[j]);
}

static void shows_the_events_of_tcp(void **state)
{
	(void)state;
	for (size_t i = 0; i < answer_state_cnt; i++)
		answer_check_events(&answer_states[i]);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_as_tcp_does),
		cmocka_unit_test(shows_the_events_of_tcp),
	};

	show_begin("tcp", 2);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
