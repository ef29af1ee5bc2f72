/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The values of keys in a fault specification. */
#ifndef UTIL_FAULT_VALUE_H
#define UTIL_FAULT_VALUE_H

#include "fault-names.h"
#include "fault-rule.h"
#include "fault-text.h"

/* The number of a name.  Return: false: the error is noted. */
bool util_fault_name_take(const struct util_fault_text *text,
			  const struct util_fault_names *names,
			  struct util_fault_span span, uint32_t *ret_number);

/*
 * Sets in @rule what @key says, which is one bit of enum util_fault_key.
 * @span: the value.
 * @opcodes: those that opcode= may name.
 * Return: false: the error is noted.
 */
bool util_fault_value_take(const struct util_fault_text *text,
			   struct util_fault_rule *rule,
			   enum util_fault_key key, struct util_fault_span span,
			   uint32_t opcodes);

#endif
