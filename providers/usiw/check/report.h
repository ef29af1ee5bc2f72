/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Findings, as lines of JSON in the file that USIW_CHECK names:
 *
 *   {"key":"16 hex digits","pid":1,"rule":"cq-overrun","level":"finding",
 *    "what":"...","do":"...","stacks":[{"of":"posted","frames":[...]},...]}
 *   {"key":"16 hex digits","pid":1,"count":4}
 *
 * The second kind renews the count of a finding that was written before.  A
 * line is one write(2) with O_APPEND, so that processes may share the file.
 */
#ifndef USIW_CHECK_REPORT_H
#define USIW_CHECK_REPORT_H

#include <stdbool.h>

#include "stack.h"

enum usiw_check_rule {
#define RULE(id, name, level, advice) USIW_CHECK_##id,
#include "rules.def"
	USIW_CHECK_RULE_CNT,
};

/* A stack of a finding. */
struct usiw_check_place {
	const char *label; /* NULL: the end */
	const struct usiw_check_stack *stack;
};

#define USIW_CHECK_PLACES(...)                                                 \
	((const struct usiw_check_place[]){ __VA_ARGS__, { NULL, NULL } })

/* Takes the path from USIW_CHECK.  Return: true: the process is checked. */
bool usiw_check_report_open(void);

/* Reports a finding; the same rule with the same stacks only once.  Under the
 * lock of shadow.h.  @fmt: what is wrong, with the object. */
void usiw_check_report(enum usiw_check_rule rule,
		       const struct usiw_check_place *places, const char *fmt,
		       ...) __attribute__((format(printf, 3, 4)));

/* In a forked child: the parent has reported what was seen. */
void usiw_check_report_forget(void);

/* The process ends: the counts. */
void usiw_check_report_close(void);

#endif
