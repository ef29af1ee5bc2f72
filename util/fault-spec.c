/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * See fault-spec.h.
 *
 *	spec   = clause *( ";" clause ) [ ";" ]
 *	clause = pair *( "," pair )
 *	pair   = key "=" value
 *
 * Blanks around each of them do not matter.  A clause is a rule, whose first
 * pair is its fault; or it has seed, process and rank for all rules that do not
 * say them.
 */
#include "fault-spec.h"

#include <stdio.h>
#include <string.h>

#include "fault-names.h"
#include "fault-value.h"

#define KEYS_WHO (UTIL_FAULT_PROCESS | UTIL_FAULT_RANK)
#define KEYS_COMMON (KEYS_WHO | UTIL_FAULT_SEED)
#define KEYS_WHEN                                                              \
	(UTIL_FAULT_NTH | UTIL_FAULT_EVERY | UTIL_FAULT_P | UTIL_FAULT_TIMES)
#define KEYS_PLACE (KEYS_WHEN | UTIL_FAULT_QP | UTIL_FAULT_PEER)
#define KEYS_WORK (KEYS_PLACE | UTIL_FAULT_OPCODE)
#define KEYS_MESSAGE (KEYS_WORK | UTIL_FAULT_AFTER)
#define KEYS_EITHER (KEYS_MESSAGE | UTIL_FAULT_DIR)
#define KEYS_CM (KEYS_WHEN | UTIL_FAULT_PEER)

#define OPS_PAYLOAD                                                            \
	(UTIL_FAULT_OP_SEND | UTIL_FAULT_OP_WRITE | UTIL_FAULT_OP_RESPONSE)
#define OPS_MESSAGE (OPS_PAYLOAD | UTIL_FAULT_OP_READ | UTIL_FAULT_OP_ATOMIC)
#define OPS_WORK                                                               \
	(UTIL_FAULT_OP_SEND | UTIL_FAULT_OP_WRITE | UTIL_FAULT_OP_READ |       \
	 UTIL_FAULT_OP_ATOMIC | UTIL_FAULT_OP_LOCAL | UTIL_FAULT_OP_RECV)

/* RDMAP: the stream fails catastrophically. */
#define CODE_DEFAULT 0x0207

/* ---- the tables of faults and keys --------------------------------------- */

struct fault_row {
	const char *key;
	const char *value; /* NULL: a name of @names */
	const struct util_fault_names *names;
	uint32_t must, may; /* keys beside KEYS_WHO */
	uint32_t opcodes;   /* that opcode= may name */
};

static const struct fault_row rows[] = {
	[UTIL_FAULT_CALL] = { "verb", NULL, &util_fault_calls, UTIL_FAULT_ERRNO,
			      KEYS_WHEN | UTIL_FAULT_QP, 0 },
	[UTIL_FAULT_COMPLETION] = { "completion", NULL, &util_fault_statuses, 0,
				    KEYS_WORK | UTIL_FAULT_VENDOR_ERR,
				    OPS_WORK },
	[UTIL_FAULT_CQ_OVERRUN] = { "cq", "overrun", NULL, 0, KEYS_WORK,
				    OPS_WORK },
	[UTIL_FAULT_SIGNAL] = { "signal", NULL, &util_fault_signals, 0,
				KEYS_WORK | UTIL_FAULT_AT, OPS_WORK },
	[UTIL_FAULT_STATE_ERROR] = { "state", "error", NULL, 0, KEYS_EITHER,
				     OPS_MESSAGE },
	[UTIL_FAULT_STREAM_STALL] = { "stream", "stall", NULL, 0,
				      KEYS_EITHER | UTIL_FAULT_FOR,
				      OPS_MESSAGE },
	[UTIL_FAULT_STREAM_SILENT] = { "stream", "silent", NULL, 0,
				       KEYS_EITHER | UTIL_FAULT_FOR,
				       OPS_MESSAGE },
	[UTIL_FAULT_STREAM_RESET] = { "stream", "reset", NULL, 0, KEYS_EITHER,
				      OPS_MESSAGE },
	[UTIL_FAULT_STREAM_HALF_CLOSE] = { "stream", "half-close", NULL, 0,
					   KEYS_EITHER, OPS_MESSAGE },
	[UTIL_FAULT_STREAM_DELAY] = { "stream", "delay", NULL, UTIL_FAULT_FOR,
				      KEYS_MESSAGE, OPS_MESSAGE },
	[UTIL_FAULT_MESSAGE_BAD_CRC] = { "message", "bad-crc", NULL, 0,
					 KEYS_MESSAGE, OPS_MESSAGE },
	[UTIL_FAULT_MESSAGE_CHANGED] = { "message", "changed", NULL, 0,
					 KEYS_MESSAGE, OPS_PAYLOAD },
	[UTIL_FAULT_TERMINATE_FORGED] = { "terminate", "forged", NULL, 0,
					  KEYS_MESSAGE | UTIL_FAULT_CODE,
					  OPS_MESSAGE },
	[UTIL_FAULT_TERMINATE_LOST] = { "terminate", "lost", NULL, 0,
					KEYS_PLACE, 0 },
	[UTIL_FAULT_RECEIVE_RNR] = { "receive", "rnr", NULL, UTIL_FAULT_FOR,
				     KEYS_PLACE | UTIL_FAULT_AFTER, 0 },
	[UTIL_FAULT_DATAGRAM_LOST] = { "datagram", "lost", NULL, 0,
				       KEYS_PLACE | UTIL_FAULT_AFTER, 0 },
	[UTIL_FAULT_PORT_DOWN] = { "port", "down", NULL, UTIL_FAULT_FOR,
				   UTIL_FAULT_AT, 0 },
	[UTIL_FAULT_DEVICE_FATAL] = { "device", "fatal", NULL, 0, UTIL_FAULT_AT,
				      0 },
	[UTIL_FAULT_CM_ADDR_ERROR] = { "cm", "addr-error", NULL, 0,
				       KEYS_CM | UTIL_FAULT_ERRNO, 0 },
	[UTIL_FAULT_CM_ROUTE_ERROR] = { "cm", "route-error", NULL, 0,
					KEYS_CM | UTIL_FAULT_ERRNO, 0 },
	[UTIL_FAULT_CM_UNREACHABLE] = { "cm", "unreachable", NULL, 0, KEYS_CM,
					0 },
	[UTIL_FAULT_CM_REJECT] = { "cm", "reject", NULL, 0, KEYS_CM, 0 },
	[UTIL_FAULT_CM_TIMEOUT] = { "cm", "timeout", NULL, 0, KEYS_CM, 0 },
	[UTIL_FAULT_CM_ADDR_CHANGE] = { "cm", "addr-change", NULL, 0,
					UTIL_FAULT_AT, 0 },
};

_Static_assert(sizeof(rows) / sizeof(rows[0]) == UTIL_FAULT_CNT,
	       "a row for each fault");

/* By the number of their bit. */
static const char *const key_names[] = {
	"errno", "vendor_err", "code",	  "for",   "at",   "qp",
	"peer",	 "opcode",     "dir",	  "after", "nth",  "every",
	"p",	 "times",      "process", "rank",  "seed",
};

#define KEY_CNT (sizeof(key_names) / sizeof(key_names[0]))

_Static_assert(1u << (KEY_CNT - 1) == UTIL_FAULT_SEED, "a name for each key");

/* All words by which a pair may begin. */
static const char *word_name(size_t num)
{
	return num < KEY_CNT ? key_names[num] : rows[num - KEY_CNT].key;
}

#define WORD_CNT (KEY_CNT + UTIL_FAULT_CNT)

/* ---- parts --------------------------------------------------------------- */

struct pair {
	struct util_fault_span key, value;
};

static bool pair_split(const struct util_fault_text *text,
		       struct util_fault_span span, struct pair *ret_pair)
{
	size_t sign = util_fault_span_find(text, span, '=');

	if (!util_fault_span_len(util_fault_span_trim(text, span)))
		return util_fault_wrong(text, span.from,
					"key=value is wanted here");
	if (sign == span.to)
		return util_fault_wrong(text, span.to,
					"= and a value are wanted here");
	ret_pair->key = util_fault_span_trim(
		text, (struct util_fault_span){ span.from, sign });
	ret_pair->value = util_fault_span_trim(
		text, (struct util_fault_span){ sign + 1, span.to });
	if (!util_fault_span_len(ret_pair->key))
		return util_fault_wrong(text, sign,
					"a key is wanted before this");
	if (!util_fault_span_len(ret_pair->value))
		return util_fault_wrong(text, sign + 1,
					"a value is wanted here");
	return true;
}

/* Return: its bit; 0: there is no such key. */
static uint32_t key_find(const struct util_fault_text *text,
			 struct util_fault_span span)
{
	for (size_t i = 0; i < KEY_CNT; i++)
		if (util_fault_span_is(text, span, key_names[i]))
			return 1u << i;
	return 0;
}

static bool key_is_fault(const struct util_fault_text *text,
			 struct util_fault_span span)
{
	for (size_t i = 0; i < UTIL_FAULT_CNT; i++)
		if (util_fault_span_is(text, span, rows[i].key))
			return true;
	return false;
}

/* "use for=, at=, process=, rank=" */
#define KEYS_TEXT_MAX 160

static const char *keys_text(uint32_t keys, char ret_text[KEYS_TEXT_MAX])
{
	size_t len = 0;

	ret_text[0] = '\0';
	for (size_t i = 0; i < KEY_CNT; i++)
		if (keys & 1u << i)
			len += (size_t)snprintf(
				ret_text + len, KEYS_TEXT_MAX - len,
				"%s%s=", len ? ", " : "use ", key_names[i]);
	return ret_text;
}

/* ---- pairs --------------------------------------------------------------- */

static bool key_refuse(const struct util_fault_text *text,
		       struct util_fault_span span, uint32_t key, uint32_t may)
{
	char keys[KEYS_TEXT_MAX];

	keys_text(may, keys);
	if (key)
		return util_fault_wrong(text, span.from,
					"%.*s= does not go here; %s",
					(int)util_fault_span_len(span),
					text->text + span.from, keys);
	if (key_is_fault(text, span))
		return util_fault_wrong(
			text, span.from,
			"a rule has one fault; write ; before the "
			"next rule");
	return util_fault_wrong_word(
		text, span, "key",
		util_fault_span_near(text, span, word_name, WORD_CNT), keys);
}

/* The keys of the rule that @key cannot stand beside. */
static uint32_t key_conflict(const struct util_fault_rule *rule, uint32_t key)
{
	static const struct {
		uint32_t one, other;
	} conflicts[] = {
		{ UTIL_FAULT_P, UTIL_FAULT_NTH | UTIL_FAULT_EVERY },
		{ UTIL_FAULT_AT, KEYS_WORK },
	};
	uint32_t found = 0;

	for (size_t i = 0; i < sizeof(conflicts) / sizeof(conflicts[0]); i++) {
		if (key & conflicts[i].one)
			found |= rule->keys & conflicts[i].other;
		if (key & conflicts[i].other)
			found |= rule->keys & conflicts[i].one;
	}
	return found;
}

/* A pair behind the fault, or one of a clause for all rules. */
static bool pair_take(const struct util_fault_text *text,
		      struct util_fault_rule *rule, const struct pair *pair,
		      uint32_t may, uint32_t opcodes)
{
	uint32_t key = key_find(text, pair->key), other;

	if (!(key & may))
		return key_refuse(text, pair->key, key, may);
	if (rule->keys & key)
		return util_fault_wrong(text, pair->key.from,
					"it is there already");
	other = key_conflict(rule, key);
	if (other)
		return util_fault_wrong(text, pair->key.from,
					"it does not go with %s=",
					key_names[__builtin_ctz(other)]);
	rule->keys |= key;
	return util_fault_value_take(text, rule, (enum util_fault_key)key,
				     pair->value, opcodes);
}

static bool pairs_take(const struct util_fault_text *text,
		       struct util_fault_rule *rule,
		       struct util_fault_span rest, uint32_t may,
		       uint32_t opcodes)
{
	struct pair pair;
	size_t end;

	for (;; rest.from = end + 1) {
		end = util_fault_span_find(text, rest, ',');
		if (!pair_split(text,
				(struct util_fault_span){ rest.from, end },
				&pair) ||
		    !pair_take(text, rule, &pair, may, opcodes))
			return false;
		if (end == rest.to)
			return true;
	}
}

/* ---- rules --------------------------------------------------------------- */

static bool fault_named(const struct util_fault_text *text,
			struct util_fault_rule *rule, enum util_fault fault,
			struct util_fault_span value)
{
	uint32_t *number = fault == UTIL_FAULT_CALL	    ? &rule->call
			   : fault == UTIL_FAULT_COMPLETION ? &rule->status
							    : &rule->signal;

	rule->fault = fault;
	return util_fault_name_take(text, rows[fault].names, value, number);
}

static bool fault_unknown(const struct util_fault_text *text,
			  struct util_fault_span span)
{
	if (key_find(text, span))
		return util_fault_wrong(text, span.from,
					"a rule begins with its fault, as "
					"stream=reset");
	return util_fault_wrong_word(
		text, span, "fault",
		util_fault_span_near(text, span, word_name, WORD_CNT),
		"use verb, completion, cq, signal, state, "
		"stream, message, terminate, receive, "
		"datagram, port, device or cm");
}

/* The first pair of a rule. */
static bool fault_take(const struct util_fault_text *text,
		       struct util_fault_rule *rule, const struct pair *pair)
{
	char words[100] = "";

	for (size_t i = 0; i < UTIL_FAULT_CNT; i++) {
		const struct fault_row *row = &rows[i];

		if (!util_fault_span_is(text, pair->key, row->key))
			continue;
		if (!row->value)
			return fault_named(text, rule, (enum util_fault)i,
					   pair->value);
		if (util_fault_span_is(text, pair->value, row->value)) {
			rule->fault = (enum util_fault)i;
			return true;
		}
		snprintf(words + strlen(words), sizeof(words) - strlen(words),
			 "%s%s", *words ? ", " : "use ", row->value);
	}
	return *words ? util_fault_wrong_word(text, pair->value, "fault", NULL,
					      words)
		      : fault_unknown(text, pair->key);
}

static bool rule_take(const struct util_fault_text *text,
		      struct util_fault_span span, struct util_fault_rule *rule)
{
	size_t end = util_fault_span_find(text, span, ',');
	char keys[KEYS_TEXT_MAX];
	const struct fault_row *row;
	struct pair pair;
	uint32_t missing;

	*rule = (struct util_fault_rule){
		.text = span.from,
		.len = util_fault_span_len(span),
		.opcodes = UTIL_FAULT_OP_ANY,
		.code = CODE_DEFAULT,
	};
	if (!pair_split(text, (struct util_fault_span){ span.from, end },
			&pair) ||
	    !fault_take(text, rule, &pair))
		return false;
	row = &rows[rule->fault];
	if (end < span.to &&
	    !pairs_take(text, rule,
			(struct util_fault_span){ end + 1, span.to },
			row->must | row->may | KEYS_WHO, row->opcodes))
		return false;
	missing = row->must & ~rule->keys;
	if (missing)
		return util_fault_wrong(text, span.to,
					"the rule is not complete; %s",
					keys_text(missing, keys));
	if (rule->nth && !rule->every && !rule->times)
		rule->times = 1;
	return true;
}

/* ---- the specification --------------------------------------------------- */

#define RULE_WANTED "a rule is wanted here, as stream=reset,after=1M"

static bool clause_take(const struct util_fault_text *text,
			struct util_fault_span span,
			struct util_fault_spec *spec,
			struct util_fault_rule *common)
{
	struct util_fault_span key;

	span = util_fault_span_trim(text, span);
	if (!util_fault_span_len(span))
		return util_fault_wrong(text, span.from, RULE_WANTED);
	key = (struct util_fault_span){ span.from,
					util_fault_span_find(text, span, '=') };
	if (key_find(text, util_fault_span_trim(text, key)) & KEYS_COMMON)
		return pairs_take(text, common, span, KEYS_COMMON, 0);
	if (spec->rule_cnt == UTIL_FAULT_RULES_MAX)
		return util_fault_wrong(text, span.from,
					"there are %d rules already",
					UTIL_FAULT_RULES_MAX);
	return rule_take(text, span, &spec->rule[spec->rule_cnt++]);
}

/* What was said for all rules holds where a rule says nothing. */
static void common_apply(struct util_fault_spec *spec,
			 const struct util_fault_rule *common)
{
	for (uint32_t i = 0; i < spec->rule_cnt; i++) {
		struct util_fault_rule *rule = &spec->rule[i];

		rule->seed = common->seed;
		if (!(rule->keys & UTIL_FAULT_PROCESS))
			memcpy(rule->process, common->process,
			       sizeof(rule->process));
		if (!(rule->keys & UTIL_FAULT_RANK))
			rule->rank = common->rank;
		rule->keys |= common->keys & KEYS_WHO;
	}
}

bool util_fault_spec_parse(const char *spec_text,
			   struct util_fault_spec *ret_spec,
			   struct util_fault_error *ret_error)
{
	const struct util_fault_text text = { spec_text, ret_error };
	struct util_fault_span rest = { 0, strlen(spec_text) };
	struct util_fault_rule common = { .seed = 1 };
	size_t end;

	ret_spec->rule_cnt = 0;
	do {
		end = util_fault_span_find(&text, rest, ';');
		if (!clause_take(&text,
				 (struct util_fault_span){ rest.from, end },
				 ret_spec, &common))
			return false;
		rest.from = end < rest.to ? end + 1 : end;
	} while (util_fault_span_len(util_fault_span_trim(&text, rest)));
	if (!ret_spec->rule_cnt)
		return util_fault_wrong(&text, rest.to, RULE_WANTED);
	common_apply(ret_spec, &common);
	return true;
}
