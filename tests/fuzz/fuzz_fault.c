/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Fault specifications: any text is parsed, or refused with a place in it and
 * a reason.
 */
#include "fuzz.h"

#include <string.h>

#include "util/fault-names.h"
#include "util/fault-spec.h"

static void rule_check(const struct util_fault_rule *rule, size_t size)
{
	fuzz_assert((unsigned int)rule->fault < UTIL_FAULT_CNT);
	fuzz_assert(rule->text < size && rule->len <= size - rule->text);
	fuzz_assert(rule->call < UTIL_FAULT_CALL_MAX);
	fuzz_assert(rule->opcodes & UTIL_FAULT_OP_ANY);
	fuzz_assert(!(rule->opcodes & ~(uint32_t)UTIL_FAULT_OP_ANY));
	fuzz_assert(rule->p <= 1ull << 32);
	fuzz_assert(!rule->p || (!rule->nth && !rule->every));
	fuzz_assert(memchr(rule->process, 0, sizeof(rule->process)));
	fuzz_assert(rule->fault != UTIL_FAULT_CALL || rule->err);
}

static void error_check(const char *text, const struct util_fault_error *error)
{
	char lines[UTIL_FAULT_SHOWN_MAX];
	const char *caret;

	fuzz_assert(error->at <= strlen(text));
	fuzz_assert(*error->what);
	fuzz_assert(memchr(error->what, 0, sizeof(error->what)));
	util_fault_error_show(text, error, lines);
	caret = strchr(lines, '\n');
	fuzz_assert(caret);
	caret += 1 + strspn(caret + 1, " ");
	fuzz_assert(!strcmp(caret, "^\n"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct util_fault_spec spec;
	struct util_fault_error error = { .at = SIZE_MAX };
	char *text = malloc(size + 1);

	fuzz_assert(text);
	memcpy(text, data, size);
	text[size] = '\0';
	if (util_fault_spec_parse(text, &spec, &error)) {
		fuzz_assert(spec.rule_cnt &&
			    spec.rule_cnt <= UTIL_FAULT_RULES_MAX);
		for (uint32_t i = 0; i < spec.rule_cnt; i++)
			rule_check(&spec.rule[i], size);
	} else {
		error_check(text, &error);
	}
	free(text);
	return 0;
}
