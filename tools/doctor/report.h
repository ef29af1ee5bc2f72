/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the checks find: lines for a person, or JSON. */
#ifndef DOCTOR_REPORT_H
#define DOCTOR_REPORT_H

#include <stdbool.h>
#include <stddef.h>

enum verdict { VERDICT_OK, VERDICT_NOTE, VERDICT_WRONG, VERDICT_SKIPPED };

struct finding {
	const char *check;
	enum verdict verdict;
	char *text;
	char *repair; /* NULL: none */
};

struct report {
	const char *check; /* the name of the check that runs */
	struct finding *findings;
	size_t cnt;
	bool is_out_of_memory; /* findings are missing */
};

#define REPORT_FORMAT(fmt, args) __attribute__((format(printf, fmt, args)))

/* One finding of the check that runs: what, and where. */
void report_ok(struct report *report, const char *fmt, ...) REPORT_FORMAT(2, 3);
void report_note(struct report *report, const char *fmt, ...)
	REPORT_FORMAT(2, 3);
void report_wrong(struct report *report, const char *fmt, ...)
	REPORT_FORMAT(2, 3);
/* Why it could not look. */
void report_skip(struct report *report, const char *fmt, ...)
	REPORT_FORMAT(2, 3);

/* How to repair what the last finding says: a command, or a setting. */
void report_repair(struct report *report, const char *fmt, ...)
	REPORT_FORMAT(2, 3);

size_t report_cnt(const struct report *report, enum verdict verdict);

/* @is_quiet: only what is wrong. */
void report_print(const struct report *report, bool is_quiet);

/* @command: NULL: none.  Return: the exit code of the output. */
int report_print_json(const struct report *report, char *const *command);

void report_free(struct report *report);

#endif
