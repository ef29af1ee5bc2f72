/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See report.h. */
#define _GNU_SOURCE
#include "doctor/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "json.h"

static void finding_add(struct report *report, enum verdict verdict,
			const char *fmt, va_list args)
{
	struct finding *findings =
		realloc(report->findings,
			(report->cnt + 1) * sizeof(*report->findings));
	struct finding *finding;

	if (!findings) {
		report->is_out_of_memory = true;
		return;
	}
	report->findings = findings;
	finding = &findings[report->cnt];
	*finding =
		(struct finding){ .check = report->check, .verdict = verdict };
	if (vasprintf(&finding->text, fmt, args) < 0)
		report->is_out_of_memory = true;
	else
		report->cnt++;
}

#define REPORT_CALL(name, verdict)                                             \
	void name(struct report *report, const char *fmt, ...)                 \
	{                                                                      \
		va_list args;                                                  \
                                                                               \
		va_start(args, fmt);                                           \
		finding_add(report, verdict, fmt, args);                       \
		va_end(args);                                                  \
	}

REPORT_CALL(report_ok, VERDICT_OK)
REPORT_CALL(report_note, VERDICT_NOTE)
REPORT_CALL(report_wrong, VERDICT_WRONG)
REPORT_CALL(report_skip, VERDICT_SKIPPED)

void report_repair(struct report *report, const char *fmt, ...)
{
	struct finding *last;
	va_list args;

	if (!report->cnt)
		return;
	last = &report->findings[report->cnt - 1];
	free(last->repair);
	va_start(args, fmt);
	if (vasprintf(&last->repair, fmt, args) < 0) {
		last->repair = NULL;
		report->is_out_of_memory = true;
	}
	va_end(args);
}

size_t report_cnt(const struct report *report, enum verdict verdict)
{
	size_t cnt = 0;

	for (size_t i = 0; i < report->cnt; i++)
		cnt += report->findings[i].verdict == verdict;
	return cnt;
}

/* A control character in a file name does not reach the terminal. */
static void text_print(const char *text)
{
	for (; *text; text++)
		putchar((unsigned char)*text < ' ' || *text == 127 ? '?'
								   : *text);
	putchar('\n');
}

void report_print(const struct report *report, bool is_quiet)
{
	static const char *const words[] = { [VERDICT_OK] = "ok",
					     [VERDICT_NOTE] = "note",
					     [VERDICT_WRONG] = "WRONG",
					     [VERDICT_SKIPPED] = "skipped" };

	for (size_t i = 0; i < report->cnt; i++) {
		const struct finding *finding = &report->findings[i];

		if (is_quiet && finding->verdict != VERDICT_WRONG)
			continue;
		printf("%-7s %-12s ", words[finding->verdict], finding->check);
		text_print(finding->text);
		if (!finding->repair)
			continue;
		printf("%-21srepair: ", "");
		text_print(finding->repair);
	}
	if (!is_quiet)
		printf("%zu wrong, %zu to note\n",
		       report_cnt(report, VERDICT_WRONG),
		       report_cnt(report, VERDICT_NOTE));
}

static json_t *json_of_finding(const struct finding *finding)
{
	static const char *const words[] = { [VERDICT_OK] = "ok",
					     [VERDICT_NOTE] = "note",
					     [VERDICT_WRONG] = "wrong",
					     [VERDICT_SKIPPED] = "skipped" };

	return json_pack("{s:s, s:s, s:o, s:o*}", "check", finding->check,
			 "verdict", words[finding->verdict], "text",
			 json_of_text(finding->text), "repair",
			 json_of_text(finding->repair));
}

static json_t *json_of_words(char *const *words)
{
	json_t *array = json_array();

	for (; array && *words; words++) {
		if (json_array_append_new(array, json_of_text(*words)) == 0)
			continue;
		json_decref(array);
		array = NULL;
	}
	return array;
}

static json_t *json_of_findings(const struct report *report)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < report->cnt; i++) {
		if (json_array_append_new(
			    array, json_of_finding(&report->findings[i])) == 0)
			continue;
		json_decref(array);
		array = NULL;
	}
	return array;
}

int report_print_json(const struct report *report, char *const *command)
{
	size_t wrong_cnt = report_cnt(report, VERDICT_WRONG);
	json_t *root = json_pack("{s:s, s:o*, s:I, s:I, s:o}", "usiw",
				 USIW_VERSION, "command",
				 command ? json_of_words(command) : NULL,
				 "wrong", (json_int_t)wrong_cnt, "notes",
				 (json_int_t)report_cnt(report, VERDICT_NOTE),
				 "findings", json_of_findings(report));

	return json_print("doctor", root);
}

void report_free(struct report *report)
{
	for (size_t i = 0; i < report->cnt; i++) {
		free(report->findings[i].text);
		free(report->findings[i].repair);
	}
	free(report->findings);
}
