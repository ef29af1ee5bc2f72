/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The lists of names in a fault specification. */
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "util/fault-names.h"

static const struct util_fault_names *const lists[] = {
	&util_fault_calls,
	&util_fault_statuses,
	&util_fault_errnos,
	&util_fault_signals,
};

static int64_t number_of(const struct util_fault_names *names, const char *name)
{
	int place = util_fault_name_find(names, name, strlen(name));

	return place < 0 ? -1 : (int64_t)names->number((size_t)place);
}

CASE(finds_each_name_at_its_place)
{
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		assert_true(lists[i]->cnt > 0);
		for (size_t n = 0; n < lists[i]->cnt; n++) {
			const char *name = lists[i]->name(n);

			if (name)
				assert_int_equal(
					util_fault_name_find(lists[i], name,
							     strlen(name)),
					n);
		}
	}
}

CASE(knows_the_numbers)
{
	static const struct {
		const struct util_fault_names *names;
		const char *name;
		int64_t number;
	} cases[] = {
		{ &util_fault_statuses, "LOC_LEN_ERR", 1 },
		{ &util_fault_statuses, "RETRY_EXC_ERR", 12 },
		{ &util_fault_statuses, "GENERAL_ERR", 21 },
		{ &util_fault_statuses, "SUCCESS", -1 },
		{ &util_fault_errnos, "EPERM", EPERM },
		{ &util_fault_errnos, "EAGAIN", EAGAIN },
		{ &util_fault_errnos, "EHWPOISON", EHWPOISON },
		{ &util_fault_errnos, "EAGAI", -1 },
		{ &util_fault_errnos, "EAGAINS", -1 },
		{ &util_fault_errnos, "", -1 },
		{ &util_fault_signals, "KILL", SIGKILL },
		{ &util_fault_signals, "SEGV", -1 },
		{ &util_fault_calls, "ibv_post_send", -1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(number_of(cases[i].names, cases[i].name),
				 cases[i].number);
}

CASE(each_call_has_a_number_of_its_own)
{
	assert_true(util_fault_calls.cnt <= UTIL_FAULT_CALL_MAX);
	assert_true(util_fault_call("post_send") >= 0);
	assert_true(util_fault_call("rdma_connect") >= 0);
	assert_int_not_equal(util_fault_call("post_send"),
			     util_fault_call("post_recv"));
	assert_int_equal(util_fault_call("nothing"), -1);
}
