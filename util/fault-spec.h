/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The language of USIW_FAULT, which usiw-fault(7) describes. */
#ifndef UTIL_FAULT_SPEC_H
#define UTIL_FAULT_SPEC_H

#include "fault-rule.h"
#include "fault-text.h"

/* A set of rules is a word of 32 bits. */
#define UTIL_FAULT_RULES_MAX 32

struct util_fault_spec {
	uint32_t rule_cnt;
	struct util_fault_rule rule[UTIL_FAULT_RULES_MAX];
};

/**
 * util_fault_spec_parse - read a specification
 * Return: false: *ret_error says where and why; *ret_spec is undefined.
 */
bool util_fault_spec_parse(const char *text, struct util_fault_spec *ret_spec,
			   struct util_fault_error *ret_error);

#endif
