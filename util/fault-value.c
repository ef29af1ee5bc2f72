/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See fault-value.h. */
#include "fault-value.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "fault-names.h"
#include "v4-mapped.h"

#define TIME_MAX_NS (86400 * NS_PER_S)
#define COUNT_MAX UINT32_MAX

/* ---- numbers ------------------------------------------------------------- */

/* Digits from @at on, in @base.  Return: behind the last of them; @at: there is
 * none.  *ret_num is UINT64_MAX if it is larger. */
static size_t digits_take(const struct util_fault_text *text, size_t at,
			  size_t to, uint64_t base, uint64_t *ret_num)
{
	uint64_t num = 0;

	for (; at < to && isxdigit((unsigned char)text->text[at]); at++) {
		char c = (char)tolower((unsigned char)text->text[at]);
		uint64_t digit = (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);

		if (digit >= base)
			break;
		num = num > (UINT64_MAX - digit) / base ? UINT64_MAX
							: num * base + digit;
	}
	*ret_num = num;
	return at;
}

static bool number_parse(const struct util_fault_text *text,
			 struct util_fault_span span, uint64_t least,
			 uint64_t most, uint64_t *ret_num)
{
	bool is_hex = util_fault_span_len(span) > 2 &&
		      text->text[span.from] == '0' &&
		      text->text[span.from + 1] == 'x';
	size_t from = span.from + (is_hex ? 2 : 0);
	size_t end =
		digits_take(text, from, span.to, is_hex ? 16 : 10, ret_num);

	if (end == from || end != span.to)
		return util_fault_wrong(text, end, "a number is wanted here");
	if (*ret_num < least || *ret_num > most)
		return util_fault_wrong(
			text, span.from, "use a number from %llu to %llu",
			(unsigned long long)least, (unsigned long long)most);
	return true;
}

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit time_units[] = {
	{ "us", NS_PER_US },
	{ "ms", NS_PER_MS },
	{ "s", NS_PER_S },
};

static const struct unit size_units[] = {
	{ "", 1 },
	{ "K", 1ull << 10 },
	{ "M", 1ull << 20 },
	{ "G", 1ull << 30 },
};

#define UNIT_CNT(units) (sizeof(units) / sizeof((units)[0]))

/* A number and one of the units.  @example: of how it is written. */
static bool unit_parse(const struct util_fault_text *text,
		       struct util_fault_span span, const struct unit *units,
		       size_t cnt, uint64_t most, const char *example,
		       uint64_t *ret_num)
{
	uint64_t num;
	struct util_fault_span unit = { 0, span.to };

	unit.from = digits_take(text, span.from, span.to, 10, &num);
	if (unit.from == span.from)
		return util_fault_wrong(text, span.from,
					"a number is wanted here, as in "
					"%s",
					example);
	for (size_t i = 0; i < cnt; i++) {
		if (!util_fault_span_is(text, unit, units[i].name))
			continue;
		if (num > most / units[i].factor)
			return util_fault_wrong(text, span.from, "too large");
		*ret_num = num * units[i].factor;
		return true;
	}
	return util_fault_wrong(text, unit.from,
				"a unit is wanted here, as in %s", example);
}

static bool time_parse(const struct util_fault_text *text,
		       struct util_fault_span span, uint64_t *ret_ns)
{
	return unit_parse(text, span, time_units, UNIT_CNT(time_units),
			  TIME_MAX_NS, "10ms, 500us or 7s", ret_ns);
}

/* 0.01, or 1: in units of 2^-32. */
static bool probability_parse(const struct util_fault_text *text,
			      struct util_fault_span span, uint64_t *ret_p)
{
	uint64_t whole, part = 0, scale = 1;
	size_t at = digits_take(text, span.from, span.to, 10, &whole);
	size_t from;

	if (at > span.from && at < span.to && text->text[at] == '.') {
		from = at + 1;
		at = digits_take(text, from, span.to, 10, &part);
		if (at == from || at - from > 9)
			return util_fault_wrong(
				text, from,
				"one to nine digits are wanted here");
		for (; from < at; from++)
			scale *= 10;
	}
	if (at == span.from || at != span.to)
		return util_fault_wrong(text, at,
					"a probability is wanted here, as in "
					"0.01");
	if (whole > 1 || (whole == 1 && part) || (!whole && !part))
		return util_fault_wrong(text, span.from,
					"use more than 0, and at most 1");
	*ret_p = (whole << 32) + ((part << 32) + scale - 1) / scale;
	return true;
}

/* ---- names --------------------------------------------------------------- */

bool util_fault_name_take(const struct util_fault_text *text,
			  const struct util_fault_names *names,
			  struct util_fault_span span, uint32_t *ret_number)
{
	int place = util_fault_name_find(names, text->text + span.from,
					 util_fault_span_len(span));

	if (place < 0)
		return util_fault_wrong_word(text, span, names->what,
					     util_fault_span_near(text, span,
								  names->name,
								  names->cnt),
					     names->hint);
	*ret_number = names->number((size_t)place);
	return true;
}

/* ---- the values of keys -------------------------------------------------- */

static bool qp_parse(const struct util_fault_text *text,
		     struct util_fault_rule *rule, struct util_fault_span span)
{
	uint64_t num;

	if (util_fault_span_len(span) > 1 && text->text[span.from] == '0')
		return util_fault_wrong(
			text, span.from,
			"the QP's position is wanted here: 1 is the first "
			"that the process makes; its number is not known "
			"in advance");
	if (!number_parse(text, span, 1, COUNT_MAX, &num))
		return false;
	rule->qp = (uint32_t)num;
	return true;
}

static bool peer_parse(const struct util_fault_text *text,
		       struct util_fault_rule *rule,
		       struct util_fault_span span)
{
	char addr[INET6_ADDRSTRLEN];
	struct in_addr v4;

	if (util_fault_span_len(span) < sizeof(addr)) {
		memcpy(addr, text->text + span.from, util_fault_span_len(span));
		addr[util_fault_span_len(span)] = '\0';
		if (inet_pton(AF_INET6, addr, rule->peer) == 1)
			return true;
		if (inet_pton(AF_INET, addr, &v4) == 1) {
			util_v4_map(rule->peer, &v4);
			return true;
		}
	}
	return util_fault_wrong(text, span.from,
				"no address; use one of IPv4 or IPv6");
}

static const struct {
	const char *name;
	enum util_fault_opcode opcode;
} opcode_names[] = {
	{ "send", UTIL_FAULT_OP_SEND },
	{ "write", UTIL_FAULT_OP_WRITE },
	{ "read", UTIL_FAULT_OP_READ },
	{ "atomic", UTIL_FAULT_OP_ATOMIC },
	{ "response", UTIL_FAULT_OP_RESPONSE },
	{ "local", UTIL_FAULT_OP_LOCAL },
	{ "recv", UTIL_FAULT_OP_RECV },
};

#define OPCODE_CNT (sizeof(opcode_names) / sizeof(opcode_names[0]))

static bool opcode_parse(const struct util_fault_text *text,
			 struct util_fault_rule *rule,
			 struct util_fault_span span, uint32_t known)
{
	char words[80] = "";

	for (size_t i = 0; i < OPCODE_CNT; i++) {
		if (!(opcode_names[i].opcode & known))
			continue;
		if (util_fault_span_is(text, span, opcode_names[i].name)) {
			rule->opcodes = opcode_names[i].opcode;
			return true;
		}
		snprintf(words + strlen(words), sizeof(words) - strlen(words),
			 "%s%s", *words ? ", " : "use ", opcode_names[i].name);
	}
	return util_fault_wrong_word(text, span, "opcode here", NULL, words);
}

static bool dir_parse(const struct util_fault_text *text,
		      struct util_fault_rule *rule, struct util_fault_span span)
{
	rule->is_in = util_fault_span_is(text, span, "in");
	if (rule->is_in || util_fault_span_is(text, span, "out"))
		return true;
	return util_fault_wrong_word(text, span, "direction", NULL,
				     "use in or out");
}

static bool process_parse(const struct util_fault_text *text,
			  struct util_fault_rule *rule,
			  struct util_fault_span span)
{
	if (util_fault_span_len(span) > UTIL_FAULT_PROCESS_MAX)
		return util_fault_wrong(text, span.from,
					"too long for the name of a program");
	memcpy(rule->process, text->text + span.from,
	       util_fault_span_len(span));
	rule->process[util_fault_span_len(span)] = '\0';
	return true;
}

static bool count_parse(const struct util_fault_text *text,
			struct util_fault_span span, uint64_t *ret_num)
{
	return number_parse(text, span, 1, COUNT_MAX, ret_num);
}

static bool word_parse(const struct util_fault_text *text,
		       struct util_fault_span span, uint64_t most,
		       uint32_t *ret_num)
{
	uint64_t num;

	if (!number_parse(text, span, 0, most, &num))
		return false;
	*ret_num = (uint32_t)num;
	return true;
}

bool util_fault_value_take(const struct util_fault_text *text,
			   struct util_fault_rule *rule,
			   enum util_fault_key key, struct util_fault_span span,
			   uint32_t opcodes)
{
	switch (key) {
	case UTIL_FAULT_ERRNO:
		return util_fault_name_take(text, &util_fault_errnos, span,
					    &rule->err);
	case UTIL_FAULT_VENDOR_ERR:
		return word_parse(text, span, UINT32_MAX, &rule->vendor_err);
	case UTIL_FAULT_CODE:
		return word_parse(text, span, UINT16_MAX, &rule->code);
	case UTIL_FAULT_FOR:
		return time_parse(text, span, &rule->for_ns);
	case UTIL_FAULT_AT:
		return time_parse(text, span, &rule->at_ns);
	case UTIL_FAULT_QP:
		return qp_parse(text, rule, span);
	case UTIL_FAULT_PEER:
		return peer_parse(text, rule, span);
	case UTIL_FAULT_OPCODE:
		return opcode_parse(text, rule, span, opcodes);
	case UTIL_FAULT_DIR:
		return dir_parse(text, rule, span);
	case UTIL_FAULT_AFTER:
		return unit_parse(text, span, size_units, UNIT_CNT(size_units),
				  UINT64_MAX >> 1, "4096, 64K, 1M or 2G",
				  &rule->after);
	case UTIL_FAULT_NTH:
		return count_parse(text, span, &rule->nth);
	case UTIL_FAULT_EVERY:
		return count_parse(text, span, &rule->every);
	case UTIL_FAULT_P:
		return probability_parse(text, span, &rule->p);
	case UTIL_FAULT_TIMES:
		return count_parse(text, span, &rule->times);
	case UTIL_FAULT_PROCESS:
		return process_parse(text, rule, span);
	case UTIL_FAULT_RANK:
		return word_parse(text, span, UINT32_MAX, &rule->rank);
	case UTIL_FAULT_SEED:
		return number_parse(text, span, 0, UINT64_MAX, &rule->seed);
	}
	return false;
}
