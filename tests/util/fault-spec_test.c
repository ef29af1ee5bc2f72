/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Fault specifications: rules, and each mistake with the place it is at. */
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "util/fault-names.h"
#include "util/fault-spec.h"

static struct util_fault_spec spec;
static struct util_fault_error error;

static const struct util_fault_rule *parsed(const char *text)
{
	if (!util_fault_spec_parse(text, &spec, &error))
		fail_msg("%s: at %zu: %s", text, error.at, error.what);
	return spec.rule;
}

CASE(takes_each_fault)
{
	static const struct {
		const char *text;
		enum util_fault fault;
	} cases[] = {
		{ "verb=post_send,errno=EAGAIN", UTIL_FAULT_CALL },
		{ "completion=RETRY_EXC_ERR", UTIL_FAULT_COMPLETION },
		{ "cq=overrun", UTIL_FAULT_CQ_OVERRUN },
		{ "signal=KILL", UTIL_FAULT_SIGNAL },
		{ "state=error", UTIL_FAULT_STATE_ERROR },
		{ "stream=stall", UTIL_FAULT_STREAM_STALL },
		{ "stream=silent", UTIL_FAULT_STREAM_SILENT },
		{ "stream=reset", UTIL_FAULT_STREAM_RESET },
		{ "stream=half-close", UTIL_FAULT_STREAM_HALF_CLOSE },
		{ "stream=delay,for=10ms", UTIL_FAULT_STREAM_DELAY },
		{ "message=bad-crc", UTIL_FAULT_MESSAGE_BAD_CRC },
		{ "message=changed", UTIL_FAULT_MESSAGE_CHANGED },
		{ "terminate=forged", UTIL_FAULT_TERMINATE_FORGED },
		{ "terminate=lost", UTIL_FAULT_TERMINATE_LOST },
		{ "receive=rnr,for=1ms", UTIL_FAULT_RECEIVE_RNR },
		{ "datagram=lost", UTIL_FAULT_DATAGRAM_LOST },
		{ "port=down,for=7s", UTIL_FAULT_PORT_DOWN },
		{ "device=fatal", UTIL_FAULT_DEVICE_FATAL },
		{ "cm=addr-error", UTIL_FAULT_CM_ADDR_ERROR },
		{ "cm=route-error", UTIL_FAULT_CM_ROUTE_ERROR },
		{ "cm=unreachable", UTIL_FAULT_CM_UNREACHABLE },
		{ "cm=reject", UTIL_FAULT_CM_REJECT },
		{ "cm=timeout", UTIL_FAULT_CM_TIMEOUT },
		{ "cm=addr-change", UTIL_FAULT_CM_ADDR_CHANGE },
	};

	assert_int_equal(ARRAY_LEN(cases), UTIL_FAULT_CNT);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct util_fault_rule *rule = parsed(cases[i].text);

		assert_int_equal(spec.rule_cnt, 1);
		assert_int_equal(rule->fault, cases[i].fault);
		assert_int_equal(rule->text, 0);
		assert_int_equal(rule->len, strlen(cases[i].text));
		assert_int_equal(rule->seed, 1);
		assert_int_equal(rule->opcodes, UTIL_FAULT_OP_ANY);
	}
}

CASE(takes_all_keys_of_a_rule)
{
	const struct util_fault_rule *rule = parsed(
		" verb = post_send , nth=3,every=10,times=5,errno=EAGAIN,qp=2,"
		"process=ib_write_bw,rank=4 ");

	assert_int_equal(rule->call, util_fault_call("post_send"));
	assert_int_equal(rule->err, EAGAIN);
	assert_int_equal(rule->nth, 3);
	assert_int_equal(rule->every, 10);
	assert_int_equal(rule->times, 5);
	assert_int_equal(rule->qp, 2);
	assert_string_equal(rule->process, "ib_write_bw");
	assert_int_equal(rule->rank, 4);
	assert_int_equal(rule->text, 1);

	rule = parsed("completion=REM_ACCESS_ERR,opcode=write,vendor_err=0x88,"
		      "p=0.5,peer=10.0.0.1;signal=STOP,at=2s;"
		      "stream=stall,dir=in,after=1M,for=1s");
	assert_int_equal(spec.rule_cnt, 3);
	assert_int_equal(rule[0].status, 10);
	assert_int_equal(rule[0].opcodes, UTIL_FAULT_OP_WRITE);
	assert_int_equal(rule[0].vendor_err, 0x88);
	assert_true(rule[0].p == 1ull << 31);
	assert_int_equal(rule[1].signal, SIGSTOP);
	assert_int_equal(rule[1].at_ns, 2000000000);
	assert_true(rule[2].is_in);
	assert_int_equal(rule[2].after, 1 << 20);
}

CASE(the_nth_is_one_alone)
{
	assert_int_equal(parsed("stream=reset,nth=3")->times, 1);
	assert_int_equal(parsed("stream=reset,nth=3,every=2")->times, 0);
	assert_int_equal(parsed("stream=reset,nth=3,times=2")->times, 2);
	assert_int_equal(parsed("stream=reset")->times, 0);
}

CASE(a_clause_without_fault_is_for_all_rules)
{
	const struct util_fault_rule *rule =
		parsed("stream=reset;seed=7,process=one;rank=3;"
		       "stream=stall,process=two,rank=0;");

	assert_int_equal(spec.rule_cnt, 2);
	assert_int_equal(rule[0].seed, 7);
	assert_int_equal(rule[1].seed, 7);
	assert_string_equal(rule[0].process, "one");
	assert_string_equal(rule[1].process, "two");
	assert_true(rule[0].keys & UTIL_FAULT_RANK);
	assert_int_equal(rule[0].rank, 3);
	assert_int_equal(rule[1].rank, 0);
	assert_false(parsed("stream=reset")->keys & UTIL_FAULT_PROCESS);
}

CASE(takes_as_many_rules_as_a_set_has)
{
	char text[34 * sizeof("cq=overrun;")] = "";

	for (int i = 0; i < UTIL_FAULT_RULES_MAX; i++)
		strcat(text, "cq=overrun;");
	parsed(text);
	assert_int_equal(spec.rule_cnt, UTIL_FAULT_RULES_MAX);
	strcat(text, "cq=overrun");
	assert_false(util_fault_spec_parse(text, &spec, &error));
	assert_non_null(strstr(error.what, "32 rules already"));
	assert_int_equal(error.at, 32 * strlen("cq=overrun;"));
}

CASE(points_at_each_mistake)
{
	/* The caret stands below the place. */
	static const struct {
		const char *text, *caret, *what;
	} cases[] = {
		{ "", "^", "a rule is wanted" },
		{ "  ", "  ^", "a rule is wanted" },
		{ ";cq=overrun", "^", "a rule is wanted" },
		{ "cq=overrun;;seed=1", "           ^", "a rule is wanted" },
		{ "seed=1", "      ^", "a rule is wanted" },
		{ "verb", "    ^", "= and a value are wanted" },
		{ "verb=", "     ^", "a value is wanted" },
		{ "=post_send", "^", "a key is wanted" },
		{ "verb=post_send,", "               ^",
		  "key=value is wanted" },
		{ "verb=post_send,,nth=1", "               ^",
		  "key=value is wanted" },
		{ "verb=post_send,nth", "                  ^",
		  "= and a value are wanted" },
		{ "verb=post_send,nth=,errno=EIO", "                   ^",
		  "a value is wanted" },
		{ "verb=post_send,nth=3,errno=EGAIN",
		  "                           ^", "is EAGAIN meant?" },
		{ "verb=post_send,nth=3", "                    ^",
		  "not complete; use errno=" },
		{ "verb=post_sent,errno=EIO", "     ^", "is post_send meant?" },
		{ "verb=ibv_post_send,errno=EIO", "     ^", "without ibv_" },
		{ "vreb=post_send,errno=EIO", "^",
		  "no such fault; use verb, completion" },
		{ "verbs=post_send,errno=EIO", "^", "is verb meant?" },
		{ "nth=3,verb=post_send", "^", "a rule begins with its fault" },
		{ "stream=resett", "       ^",
		  "use stall, silent, reset, half-close, delay" },
		{ "stream=delay", "            ^", "not complete; use for=" },
		{ "stream=reset,for=1s", "             ^",
		  "for= does not go here; use qp=, peer=" },
		{ "stream=reset,after=1M,at=2s", "                      ^",
		  "at= does not go here" },
		{ "stream=reset,stream=stall", "             ^", "one fault" },
		{ "stream=reset,nth=1,nth=2", "                   ^",
		  "there already" },
		{ "stream=reset,nth=1,p=0.5", "                   ^",
		  "does not go with nth=" },
		{ "stream=reset,p=0.5,every=2", "                   ^",
		  "does not go with p=" },
		{ "signal=KILL,at=1s,nth=2", "                  ^",
		  "does not go with at=" },
		{ "stream=reset,opcode=recv", "                    ^",
		  "use send, write, read" },
		{ "completion=RECV_ERR", "           ^", "without IBV_WC_" },
		{ "completion=RETRY_EXEC_ERR", "           ^",
		  "is RETRY_EXC_ERR meant?" },
		{ "signal=SEGV", "       ^", "use KILL, STOP, TERM or ABRT" },
		{ "stream=reset,oppcode=send", "             ^",
		  "is opcode meant?" },
		{ "stream=reset,qq=1", "             ^",
		  "no such key; use qp=" },
		{ "seed=7,verb=post_send", "       ^",
		  "write ; before the next rule" },
		{ "seed=7,nth=1", "       ^",
		  "nth= does not go here; use process=, rank=" },
		{ "cq=overrun;seed=7;seed=8", "                  ^",
		  "there already" },
		{ "cq=overrun,seed=7", "           ^",
		  "seed= does not go here" },
		{ "cq=overrun;stream=reset,qp=0x101",
		  "                           ^", "QP's position" },
		{ "port=down,for=7", "               ^", "a unit is wanted" },
		{ "cm=reject,errno=EIO", "          ^",
		  "errno= does not go here" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char lines[UTIL_FAULT_SHOWN_MAX], expected[200];

		if (util_fault_spec_parse(cases[i].text, &spec, &error))
			fail_msg("taken: %s", cases[i].text);
		util_fault_error_show(cases[i].text, &error, lines);
		snprintf(expected, sizeof(expected), "%s\n%s\n", cases[i].text,
			 cases[i].caret);
		if (strcmp(lines, expected) != 0 ||
		    !strstr(error.what, cases[i].what))
			fail_msg("%s%s", lines, error.what);
	}
}
