/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Checks of what a certain program needs: the persona, and the variables of
 * UCX. */
#define _GNU_SOURCE
#include "doctor/check.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum verdict_of_program { NEEDS_CA, IS_ADVICE, CANNOT };

static const struct known_program {
	const char *pattern, *arguments;
	enum verdict_of_program verdict;
	const char *why;
} known_programs[] = {
#define PROGRAM(pattern, arguments, verdict, why)                              \
	{ pattern, arguments, verdict, why },
#define LIBRARY(prefix, verdict, why)
#include "doctor/programs.def"
#undef PROGRAM
#undef LIBRARY
};

static const struct known_library {
	const char *prefix;
	enum verdict_of_program verdict;
	const char *why;
} known_libraries[] = {
#define PROGRAM(pattern, arguments, verdict, why)
#define LIBRARY(prefix, verdict, why) { prefix, verdict, why },
#include "doctor/programs.def"
#undef PROGRAM
#undef LIBRARY
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* True if a word of @argv is in @list, which separates by "|". */
static bool has_argument(const char *list, char *const *argv)
{
	for (; *argv; argv++) {
		size_t len;

		for (const char *at = list; *at; at += len + (at[len] != 0)) {
			len = strcspn(at, "|");
			if (strlen(*argv) == len &&
			    strncmp(*argv, at, len) == 0)
				return true;
		}
	}
	return false;
}

static bool is_program(const struct known_program *known, const char *word,
		       char *const *argv)
{
	return fnmatch(known->pattern, file_name(word), 0) == 0 &&
	       (!known->arguments || has_argument(known->arguments, argv));
}

/* Return: whether @known is the program, or starts it. */
static bool is_in_command(const struct known_program *known,
			  const struct subject *subject)
{
	const struct starter_way *way = &subject->program.way;

	for (unsigned i = 0; i < way->passed_cnt; i++)
		if (is_program(known, way->passed[i], subject->command))
			return true;
	return way->program && is_program(known, *way->program, way->program);
}

static void known_tell(const struct subject *subject,
		       enum verdict_of_program verdict, const char *what,
		       const char *why, struct report *report)
{
	switch (verdict) {
	case NEEDS_CA:
		if (subject->is_ca)
			return;
		report_wrong(report, "%s needs persona ca: %s", what, why);
		report_repair(report, "usiw run --persona ca -- %s ...",
			      subject->program.way.program
				      ? *subject->program.way.program
				      : *subject->command);
		return;
	case IS_ADVICE:
		report_note(report, "%s: %s", what, why);
		return;
	case CANNOT:
		report_wrong(report, "%s cannot use usiw: %s", what, why);
		return;
	}
}

void check_persona(struct subject *subject, struct report *report)
{
	size_t cnt = report->cnt;

	if (!subject->command)
		return;
	for (size_t i = 0; i < COUNT(known_programs); i++)
		if (is_in_command(&known_programs[i], subject))
			known_tell(subject, known_programs[i].verdict,
				   known_programs[i].pattern,
				   known_programs[i].why, report);
	for (size_t i = 0; i < COUNT(known_libraries); i++) {
		const struct known_library *known = &known_libraries[i];
		const struct link *link =
			links_find(&subject->links, known->prefix);

		if (link && report->cnt == cnt)
			known_tell(subject, known->verdict, link->name,
				   known->why, report);
	}
	if (report->cnt == cnt)
		report_ok(report, "%s", subject->is_ca ? "ca" : "rnic");
}

/* ---- UCX ---------------------------------------------------------------- */

/* Transports with which UCX uses usiw.  "rc", "ud" and "ib" contain them. */
static const char *const transports[] = {
	"rc_verbs", "ud_verbs", "rc", "ud", "ib", "all", "rc_v", "ud_v"
};

/* True if an item of the list @list is @item, of @len octets. */
static bool list_has(const char *list, const char *item, size_t item_len)
{
	size_t len;

	for (; *list; list += len + (list[len] != '\0')) {
		len = strcspn(list, ",");
		if (len == item_len && strncmp(list, item, len) == 0)
			return true;
	}
	return false;
}

static bool transports_fit(const char *list)
{
	/* "^tcp": all but that */
	if (*list == '^')
		return true;
	for (size_t i = 0; i < COUNT(transports); i++)
		if (list_has(list, transports[i], strlen(transports[i])))
			return true;
	return false;
}

/* Return: whether the list names a device of usiw, as in usiw_lo:1. */
static bool devices_fit(const char *list, const struct inside *inside)
{
	const char *device;
	char port[128];
	size_t at = 0;

	if (list_has(list, "all", strlen("all")))
		return true;
	while ((device = inside_next(inside, "device", &at))) {
		int len = (int)strcspn(device, " ");

		snprintf(port, sizeof(port), "%.*s:1", len, device);
		if (list_has(list, device, (size_t)len) ||
		    list_has(list, port, strlen(port)))
			return true;
	}
	return false;
}

/* A device for the repair. */
static void device_first(const struct inside *inside, char ret_name[64])
{
	const char *device = inside_get(inside, "device");

	snprintf(ret_name, 64, "%.*s", device ? (int)strcspn(device, " ") : 7,
		 device ? device : "usiw_lo");
}

void check_ucx(struct subject *subject, struct report *report)
{
	const char *tls = getenv("UCX_TLS");
	const char *devices = getenv("UCX_NET_DEVICES");
	size_t cnt = report->cnt;
	char device[64];

	if (!links_find(&subject->links, "libucp.so") &&
	    !links_find(&subject->links, "libuct.so") && !tls && !devices)
		return;
	device_first(&subject->inside, device);
	if (tls && !transports_fit(tls)) {
		report_wrong(report,
			     "UCX_TLS=%s has no transport that usiw "
			     "has",
			     tls);
		report_repair(report, "UCX_TLS=rc_verbs,ud_verbs,self");
	} else if (!tls) {
		report_note(report, "UCX_TLS is not set: UCX prefers its own "
				    "shared memory to usiw on one host");
		report_repair(report, "UCX_TLS=rc_verbs,ud_verbs,self");
	}
	if (devices && !devices_fit(devices, &subject->inside)) {
		report_wrong(report,
			     "UCX_NET_DEVICES=%s names no device of "
			     "usiw",
			     devices);
		report_repair(report, "UCX_NET_DEVICES=%s:1", device);
	}
	if (report->cnt == cnt)
		report_ok(report, "UCX_TLS=%s", tls);
}
