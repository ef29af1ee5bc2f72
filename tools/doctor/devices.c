/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Checks of usiw's devices, as a program that usiw run starts sees them. */
#define _GNU_SOURCE
#include "doctor/check.h"

#include <string.h>

#include "doctor/names.h"

void check_devices(struct subject *subject, struct report *report)
{
	size_t cnt = report->cnt, at = 0;
	const char *text, *line;
	struct names names = { .cnt = 0 };

	while ((text = inside_next(&subject->inside, "open-error", &at))) {
		(void)inside_claim(&subject->inside, ": open: ");
		report_wrong(report, "ibv_open_device(): %s", text);
	}
	at = 0;
	while ((text = inside_next(&subject->inside, "open", &at)))
		names_add(&names, text);
	if (report->cnt > cnt)
		return;
	if (names.cnt) {
		report_ok(report, "%s (persona %s)", names.text,
			  subject->is_ca ? "ca" : "rnic");
		return;
	}
	line = inside_claim(&subject->inside, "no device: ");
	report_wrong(report, "%s", line ? inside_said(line) : "no device");
}

void check_traffic(struct subject *subject, struct report *report)
{
	size_t cnt = report->cnt, at = 0;
	bool is_shared = false;
	struct names names = { .cnt = 0 };
	const char *text;

	while ((text = inside_next(&subject->inside, "traffic-error", &at))) {
		report_wrong(report, "%s", text);
		if (strstr(text, "a write"))
			report_repair(report, "allow TCP between the addresses "
					      "of the interface: nft list "
					      "ruleset");
	}
	at = 0;
	while ((text = inside_next(&subject->inside, "moved", &at)))
		names_add(&names, text);
	while (inside_claim(&subject->inside, "go through shared memory"))
		is_shared = true;
	if (names.cnt)
		report_ok(report, "%s: octets arrive, by TCP%s", names.text,
			  is_shared ? " and shared memory" : " only");
	else if (report->cnt == cnt)
		report_skip(report, "no device is active");
}

static bool is_level(const char *line, const char *level)
{
	const char *part = strstr(line, ": ");

	part = part ? strstr(part + 2, ": ") : NULL;
	return part && strncmp(part + 2, level, strlen(level)) == 0;
}

void check_messages(struct subject *subject, struct report *report)
{
	size_t cnt = report->cnt;

	for (size_t i = 0; i < subject->inside.cnt; i++) {
		struct inside_line *line = &subject->inside.lines[i];

		if (line->name || line->is_claimed)
			continue;
		if (is_level(line->text, "info: "))
			continue;
		if (is_level(line->text, "warn: "))
			report_note(report, "%s", inside_said(line->text));
		else
			report_wrong(report, "%s", inside_said(line->text));
	}
	if (report->cnt == cnt)
		report_ok(report, "none");
}
