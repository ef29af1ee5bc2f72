/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The table against the TCP of this kernel, over loopback. */
#include "test.h"

#include "cases/answer.h"
#include "cases/show.h"

CASE(answers_as_tcp_does)
{
	for (size_t i = 0; i < answer_state_cnt; i++)
		for (size_t j = 0; j < answer_call_cnt; j++)
			answer_check(&answer_states[i], &answer_calls[j]);
}

CASE(shows_the_events_of_tcp)
{
	for (size_t i = 0; i < answer_state_cnt; i++)
		answer_check_events(&answer_states[i]);
}

BEFORE_CASES()
{
	show_begin("tcp", 2);
}
