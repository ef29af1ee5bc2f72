/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The values of keys, right ones and wrong ones. */
#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "util/fault-value.h"

#define OPS (UTIL_FAULT_OP_SEND | UTIL_FAULT_OP_RECV)

static struct util_fault_rule rule;
static struct util_fault_error error;

static bool take(enum util_fault_key key, const char *value)
{
	const struct util_fault_text text = { value, &error };
	const struct util_fault_span all = { 0, strlen(value) };

	memset(&rule, 0, sizeof(rule));
	return util_fault_value_take(&text, &rule, key, all, OPS);
}

CASE(takes_numbers)
{
	assert_true(take(UTIL_FAULT_NTH, "1"));
	assert_int_equal(rule.nth, 1);
	assert_true(take(UTIL_FAULT_EVERY, "4294967295"));
	assert_int_equal(rule.every, UINT32_MAX);
	assert_true(take(UTIL_FAULT_TIMES, "0012"));
	assert_int_equal(rule.times, 12);
	assert_true(take(UTIL_FAULT_VENDOR_ERR, "0x81"));
	assert_int_equal(rule.vendor_err, 0x81);
	assert_true(take(UTIL_FAULT_VENDOR_ERR, "0"));
	assert_true(take(UTIL_FAULT_CODE, "0x1205"));
	assert_int_equal(rule.code, 0x1205);
	assert_true(take(UTIL_FAULT_RANK, "0"));
	assert_true(take(UTIL_FAULT_QP, "2"));
	assert_int_equal(rule.qp, 2);
	assert_true(take(UTIL_FAULT_SEED, "18446744073709551615"));
	assert_true(rule.seed == UINT64_MAX);
}

CASE(takes_times_and_sizes)
{
	assert_true(take(UTIL_FAULT_FOR, "10ms"));
	assert_int_equal(rule.for_ns, 10000000);
	assert_true(take(UTIL_FAULT_FOR, "7s"));
	assert_int_equal(rule.for_ns, 7000000000);
	assert_true(take(UTIL_FAULT_AT, "0us"));
	assert_int_equal(rule.at_ns, 0);
	assert_true(take(UTIL_FAULT_AT, "86400s"));
	assert_true(take(UTIL_FAULT_AFTER, "4096"));
	assert_int_equal(rule.after, 4096);
	assert_true(take(UTIL_FAULT_AFTER, "1M"));
	assert_int_equal(rule.after, 1 << 20);
	assert_true(take(UTIL_FAULT_AFTER, "2G"));
	assert_int_equal(rule.after, 2ll << 30);
}

CASE(takes_probabilities)
{
	static const struct {
		const char *text;
		uint64_t p;
	} cases[] = {
		{ "1", 1ull << 32 },	  { "1.0", 1ull << 32 },
		{ "0.5", 1ull << 31 },	  { "0.25", 1ull << 30 },
		{ "0.000000001", 5 },	  { "0.999999999", 4294967292 },
		{ "00.500", 1ull << 31 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_true(take(UTIL_FAULT_P, cases[i].text));
		assert_true(rule.p == cases[i].p);
	}
}

CASE(takes_names_and_addresses)
{
	static const uint8_t v4[16] = { [10] = 0xff, 0xff, 10, 0, 0, 1 };
	uint8_t v6[16];

	assert_true(take(UTIL_FAULT_ERRNO, "EAGAIN"));
	assert_int_equal(rule.err, EAGAIN);
	assert_true(take(UTIL_FAULT_PEER, "10.0.0.1"));
	assert_memory_equal(rule.peer, v4, 16);
	assert_true(take(UTIL_FAULT_PEER, "fe80::1"));
	assert_int_equal(inet_pton(AF_INET6, "fe80::1", v6), 1);
	assert_memory_equal(rule.peer, v6, 16);
	assert_true(take(UTIL_FAULT_OPCODE, "recv"));
	assert_int_equal(rule.opcodes, UTIL_FAULT_OP_RECV);
	assert_true(take(UTIL_FAULT_DIR, "in"));
	assert_true(rule.is_in);
	assert_true(take(UTIL_FAULT_DIR, "out"));
	assert_false(rule.is_in);
	assert_true(take(UTIL_FAULT_PROCESS, "ib_write_bw"));
	assert_string_equal(rule.process, "ib_write_bw");
}

CASE(says_where_a_value_is_wrong)
{
	static const struct {
		enum util_fault_key key;
		const char *value;
		size_t at;
		const char *what; /* a part of it */
	} cases[] = {
		{ UTIL_FAULT_NTH, "x", 0, "a number is wanted" },
		{ UTIL_FAULT_NTH, "3x", 1, "a number is wanted" },
		{ UTIL_FAULT_NTH, "-1", 0, "a number is wanted" },
		{ UTIL_FAULT_NTH, "0", 0, "from 1 to 4294967295" },
		{ UTIL_FAULT_NTH, "4294967296", 0, "from 1 to" },
		{ UTIL_FAULT_NTH, "99999999999999999999999", 0, "from 1 to" },
		{ UTIL_FAULT_NTH, "0x", 1, "a number is wanted" },
		{ UTIL_FAULT_VENDOR_ERR, "0xg", 2, "a number is wanted" },
		{ UTIL_FAULT_CODE, "0x10000", 0, "from 0 to 65535" },
		{ UTIL_FAULT_FOR, "10", 2, "a unit is wanted" },
		{ UTIL_FAULT_FOR, "10 ms", 2, "a unit is wanted" },
		{ UTIL_FAULT_FOR, "10m", 2, "a unit is wanted" },
		{ UTIL_FAULT_FOR, "ms", 0, "a number is wanted" },
		{ UTIL_FAULT_FOR, "1.5s", 1, "a unit is wanted" },
		{ UTIL_FAULT_FOR, "86401s", 0, "too large" },
		{ UTIL_FAULT_AT, "99999999999999999999s", 0, "too large" },
		{ UTIL_FAULT_AFTER, "1Mi", 1, "a unit is wanted" },
		{ UTIL_FAULT_AFTER, "99999999999G", 0, "too large" },
		{ UTIL_FAULT_P, "0", 0, "more than 0" },
		{ UTIL_FAULT_P, "0.0", 0, "more than 0" },
		{ UTIL_FAULT_P, "1.1", 0, "at most 1" },
		{ UTIL_FAULT_P, "2", 0, "at most 1" },
		{ UTIL_FAULT_P, ".5", 0, "a probability is wanted" },
		{ UTIL_FAULT_P, "0.", 2, "one to nine digits" },
		{ UTIL_FAULT_P, "0.0000000001", 2, "one to nine digits" },
		{ UTIL_FAULT_P, "1%", 1, "a probability is wanted" },
		{ UTIL_FAULT_QP, "0x101", 0, "QP's position" },
		{ UTIL_FAULT_QP, "0", 0, "from 1 to" },
		{ UTIL_FAULT_PEER, "localhost", 0, "no address" },
		{ UTIL_FAULT_PEER, "10.0.0.256", 0, "no address" },
		{ UTIL_FAULT_PEER, "10.0.0.1:4791", 0, "no address" },
		{ UTIL_FAULT_PEER,
		  "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa", 0,
		  "no address" },
		{ UTIL_FAULT_OPCODE, "write", 0, "use send, recv" },
		{ UTIL_FAULT_DIR, "both", 0, "use in or out" },
		{ UTIL_FAULT_ERRNO, "EGAIN", 0, "is EAGAIN meant?" },
		{ UTIL_FAULT_ERRNO, "11", 0, "a name such as ENOMEM" },
		{ UTIL_FAULT_PROCESS,
		  "a-name-of-64-characters-is-longer-than-a-rule-has-room-for"
		  "-so-no",
		  0, "too long" },
		{ UTIL_FAULT_SEED, "18446744073709551616x", 20,
		  "a number is wanted" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_false(take(cases[i].key, cases[i].value));
		if (error.at != cases[i].at ||
		    !strstr(error.what, cases[i].what))
			fail_msg("%s: at %zu: %s", cases[i].value, error.at,
				 error.what);
	}
}
