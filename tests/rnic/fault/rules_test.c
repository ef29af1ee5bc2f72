/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* rules.c: which events fire a rule, what is said of it, and for whom it is. */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault/rules.h"
#include "said.h"
#include "stats.h"
#include "util/fault-names.h"

static struct rnic_fault_hits hits;

static bool fires(const struct rnic_fault_event *event)
{
	return rnic_fault_match(event, &hits);
}

/* A completed Send of QP 1. */
static const struct rnic_fault_event work = {
	.faults = RNIC_FAULT_BIT(COMPLETION) | RNIC_FAULT_BIT(CQ_OVERRUN),
	.opcode = UTIL_FAULT_OP_SEND,
	.qp_no = 1,
	.qp_num = 0x1234,
};

/* Which of the next 20 events fire the only rule: "0100..." */
static const char *pattern(const struct rnic_fault_event *event)
{
	static char text[21];

	for (int i = 0; i < 20; i++)
		text[i] = fires(event) ? '1' : '0';
	return text;
}

CASE(fires_when_it_is_due)
{
	static const struct {
		const char *text, *fired;
	} cases[] = {
		{ "cq=overrun", "11111111111111111111" },
		{ "cq=overrun,nth=1", "10000000000000000000" },
		{ "cq=overrun,nth=3", "00100000000000000000" },
		{ "cq=overrun,nth=3,times=2", "00110000000000000000" },
		{ "cq=overrun,every=5", "00001000010000100001" },
		{ "cq=overrun,every=5,times=2", "00001000010000000000" },
		{ "cq=overrun,nth=2,every=7", "01000000100000010000" },
		{ "cq=overrun,times=3", "11100000000000000000" },
		{ "cq=overrun,p=1", "11111111111111111111" },
		{ "cq=overrun,nth=21", "00000000000000000000" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		rnic_fault_read(cases[i].text);
		assert_string_equal(pattern(&work), cases[i].fired);
	}
}

CASE(counts_what_the_rule_names)
{
	struct sockaddr_storage v4 = { 0 }, v6 = { 0 };
	static const struct {
		const char *text;
		struct rnic_fault_event event;
		bool does;
	} cases[] = {
		{ "cq=overrun,qp=1", { .qp_no = 1 }, true },
		{ "cq=overrun,qp=1", { .qp_no = 2 }, false },
		{ "cq=overrun,qp=1", { .qp_no = 0 }, false },
		{ "cq=overrun,opcode=recv",
		  { .opcode = UTIL_FAULT_OP_RECV },
		  true },
		{ "cq=overrun,opcode=recv",
		  { .opcode = UTIL_FAULT_OP_SEND },
		  false },
		{ "cq=overrun,opcode=recv", { 0 }, false },
		{ "message=bad-crc,after=100", { .octets = 100 }, false },
		{ "message=bad-crc,after=100", { .octets = 101 }, true },
		{ "stream=reset", { .is_in = true }, false },
		{ "stream=reset,dir=in", { .is_in = true }, true },
		{ "stream=reset,dir=in", { 0 }, false },
		/* It is always of messages that arrive. */
		{ "terminate=forged", { .is_in = true }, true },
		{ "signal=KILL", { 0 }, true },
		{ "signal=KILL,at=1s", { 0 }, false },
		{ "cq=overrun,peer=10.0.0.1", { 0 }, false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rnic_fault_event event = cases[i].event;

		event.faults = UINT32_MAX;
		rnic_fault_read(cases[i].text);
		if (fires(&event) != cases[i].does)
			fail_msg("%s", cases[i].text);
	}

	*(struct sockaddr_in *)&v4 = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(0x0a000001),
	};
	v6.ss_family = AF_INET6;
	assert_int_equal(inet_pton(AF_INET6, "::ffff:10.0.0.1",
				   &((struct sockaddr_in6 *)&v6)->sin6_addr),
			 1);
	rnic_fault_read("cq=overrun,peer=10.0.0.1");
	assert_true(fires(&(struct rnic_fault_event){ .faults = UINT32_MAX,
						      .peer = &v4 }));
	assert_true(fires(&(struct rnic_fault_event){ .faults = UINT32_MAX,
						      .peer = &v6 }));
	rnic_fault_read("cq=overrun,peer=10.0.0.2");
	assert_false(fires(&(struct rnic_fault_event){ .faults = UINT32_MAX,
						       .peer = &v4 }));
}

CASE(fires_what_the_event_may_fire)
{
	struct rnic_fault_event event = work;
	const struct util_fault_rule *rule;

	rnic_fault_read("cq=overrun,nth=2;completion=REM_OP_ERR;"
			"completion=LOC_LEN_ERR;stream=reset");
	assert_true(fires(&event));
	assert_int_equal(hits.rules, 6);
	assert_int_equal(hits.event[1], 1);
	rule = rnic_fault_first(&hits, RNIC_FAULT_BIT(COMPLETION));
	assert_int_equal(rule->status, 11);
	assert_null(rnic_fault_first(&hits, RNIC_FAULT_BIT(CQ_OVERRUN)));
	event.faults = RNIC_FAULT_BIT(CQ_OVERRUN);
	assert_true(fires(&event));
	assert_int_equal(hits.rules, 1);
	assert_int_equal(hits.event[0], 2);
	event.faults = RNIC_FAULT_BIT(DATAGRAM_LOST);
	assert_false(fires(&event));
}

CASE(a_call_is_one_of_that_name)
{
	struct rnic_fault_event event = { .faults = RNIC_FAULT_BIT(CALL) };

	rnic_fault_read("verb=post_send,errno=EIO");
	event.call = (uint32_t)util_fault_call("post_recv");
	assert_false(fires(&event));
	event.call = (uint32_t)util_fault_call("post_send");
	assert_true(fires(&event));
	assert_int_equal(rnic_fault_first(&hits, RNIC_FAULT_BIT(CALL))->err,
			 EIO);
}

/* The message could not be sent now, and will be tried again. */
CASE(an_event_can_be_taken_back)
{
	rnic_fault_read("cq=overrun,nth=2;completion=FATAL_ERR,times=1");
	for (int i = 0; i < 5; i++) {
		assert_true(fires(&work));
		assert_int_equal(hits.rules, 2);
		rnic_fault_unmatch(&work, &hits);
	}
	assert_true(fires(&work));
	assert_true(fires(&work));
	assert_int_equal(hits.rules, 1);
	rnic_fault_unmatch(&work, &hits);
	assert_true(fires(&work));
	assert_int_equal(hits.rules, 1);
	assert_false(fires(&work));
}

/* The same for a seed; another seed, or another place of the rule, gives
 * another order, and the share is about what was asked for. */
CASE(chance_depends_on_the_seed_alone)
{
	char first[21];
	int cnt = 0;

	rnic_fault_read("seed=7;cq=overrun,p=0.5");
	strcpy(first, pattern(&work));
	rnic_fault_read("seed=7;cq=overrun,p=0.5");
	assert_string_equal(pattern(&work), first);
	rnic_fault_read("seed=8;cq=overrun,p=0.5");
	assert_string_not_equal(pattern(&work), first);
	rnic_fault_read("seed=7;stream=reset;cq=overrun,p=0.5");
	assert_string_not_equal(pattern(&work), first);
	rnic_fault_read("cq=overrun,p=0.01");
	for (int i = 0; i < 100000; i++)
		cnt += fires(&work);
	assert_in_range(cnt, 900, 1100);
}

CASE(hooks_ask_for_their_places)
{
	static const struct {
		const char *text;
		uint32_t sites;
	} cases[] = {
		{ "verb=post_send,errno=EIO", RNIC_FAULT_AT_CALL },
		{ "cq=overrun", RNIC_FAULT_AT_WORK },
		{ "signal=KILL", RNIC_FAULT_AT_WORK },
		{ "signal=KILL,at=1s", RNIC_FAULT_AT_TIME },
		{ "state=error", RNIC_FAULT_AT_STREAM },
		{ "receive=rnr,for=1s",
		  RNIC_FAULT_AT_RECEIVE | RNIC_FAULT_AT_STREAM },
		{ "datagram=lost", RNIC_FAULT_AT_DATAGRAM },
		{ "cm=reject;cm=addr-error", RNIC_FAULT_AT_CM },
		{ "device=fatal", RNIC_FAULT_AT_TIME },
		{ "port=down,for=1s",
		  RNIC_FAULT_AT_TIME | RNIC_FAULT_AT_STREAM |
			  RNIC_FAULT_AT_DATAGRAM | RNIC_FAULT_AT_CM },
		{ "device=fatal,process=another", 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		rnic_fault_read(cases[i].text);
		assert_int_equal(atomic_load(&rnic_fault_sites),
				 cases[i].sites);
		assert_int_equal(rnic_fault_is_on(RNIC_FAULT_ANYWHERE),
				 cases[i].sites != 0);
	}
}

CASE(a_rule_is_for_a_process)
{
	char text[200];

	snprintf(text, sizeof(text), "cq=overrun,process=%s",
		 program_invocation_short_name);
	rnic_fault_read(text);
	assert_true(fires(&work));
	rnic_fault_read("cq=overrun,process=another;device=fatal");
	assert_false(fires(&work));
	assert_false(rnic_fault_is_timed(0));
	assert_true(rnic_fault_is_timed(1));

	unsetenv("PMI_RANK");
	rnic_fault_read("cq=overrun,rank=3");
	assert_false(fires(&work));
	setenv("PMI_RANK", "3", 1);
	rnic_fault_read("cq=overrun,rank=3");
	assert_true(fires(&work));
	rnic_fault_read("cq=overrun,rank=33");
	assert_false(fires(&work));
	setenv("OMPI_COMM_WORLD_RANK", "33", 1);
	rnic_fault_read("cq=overrun,rank=33");
	assert_true(fires(&work));
	unsetenv("OMPI_COMM_WORLD_RANK");
	unsetenv("PMI_RANK");
}

CASE(a_child_counts_anew)
{
	rnic_fault_read("cq=overrun,nth=1");
	assert_int_equal(rnic_fault_qp_no(), 1);
	assert_int_equal(rnic_fault_qp_no(), 2);
	assert_true(fires(&work));
	assert_false(fires(&work));
	rnic_fault_fork_child();
	assert_true(fires(&work));
	assert_int_equal(rnic_fault_qp_no(), 1);
}

CASE(a_wrong_text_has_no_rules)
{
	rnic_fault_read("cq=overrun");
	said_begin();
	rnic_fault_read("cq=overrun;verb=post_send,errno=EGAIN");
	assert_non_null(strstr(said_end(), "USIW_FAULT, character 33: no such "
					   "errno; is EAGAIN meant?"));
	assert_false(rnic_fault_is_on(RNIC_FAULT_ANYWHERE));
	assert_int_equal(rnic_fault_rule_cnt(), 0);
	assert_false(fires(&work));
}

/* ---- what is said -------------------------------------------------------- */

BEFORE_CASES()
{
	setenv("USIW_LOG", "info", 1);
}

static const char *told(const struct rnic_fault_event *event)
{
	assert_true(fires(event));
	said_begin();
	rnic_fault_tell(event, &hits);
	return said_end();
}

CASE(the_first_of_a_rule_is_a_warning)
{
	uint64_t injected;
	const char *said;

	rnic_fault_read("datagram=lost ; cq=overrun");
	injected = test_stat(RNIC_STAT_faults_injected);
	assert_string_equal(told(&work),
			    "usiw: rnic: warn: fault: cq=overrun: event 1, "
			    "qp 1 (0x001234)\n");
	assert_string_equal(told(&work),
			    "usiw: rnic: info: fault: cq=overrun: event 2, "
			    "qp 1 (0x001234)\n");
	assert_int_equal(test_stat(RNIC_STAT_faults_injected), injected + 2);
	said_begin();
	rnic_fault_end();
	assert_string_equal(said_end(), "");
	rnic_fault_start(); /* as when a context is opened */
	said_begin();
	rnic_fault_end();
	said = said_end();
	assert_string_equal(said, "usiw: rnic: warn: fault: datagram=lost: 0 "
				  "in 0 events\n"
				  "usiw: rnic: warn: fault: cq=overrun: 2 in 2 "
				  "events\n");
}

CASE(says_whom_it_concerns)
{
	struct sockaddr_storage peer = { 0 };
	struct rnic_fault_event event = { .faults = RNIC_FAULT_BIT(CM_REJECT),
					  .peer = &peer };

	*(struct sockaddr_in *)&peer = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(7174),
		.sin_addr.s_addr = htonl(0x0a000001),
	};
	rnic_fault_read("cm=reject;port=down,for=1s");
	assert_string_equal(told(&event),
			    "usiw: rnic: warn: fault: cm=reject: event 1, peer "
			    "10.0.0.1 port 7174\n");
	event.qp_no = 2;
	event.qp_num = 0xabcdef;
	assert_string_equal(told(&event),
			    "usiw: rnic: info: fault: cm=reject: event 2, qp 2 "
			    "(0xabcdef) to 10.0.0.1 port 7174\n");
	said_begin();
	rnic_fault_tell_time(1);
	assert_string_equal(said_end(), "usiw: rnic: warn: fault: "
					"port=down,for=1s\n");
}
