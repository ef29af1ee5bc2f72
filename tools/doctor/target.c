/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Checks of the command: what it starts, and whether that can be preloaded. */
#define _GNU_SOURCE
#include "doctor/check.h"

#include <stdlib.h>
#include <string.h>

#include "environment.h"
#include "verbs.h"

#define ASAN_CHECK "verify_asan_link_order=1"

void check_command(struct subject *subject, struct report *report)
{
	const struct program *program = &subject->program;

	if (!subject->command)
		return;
	if (program->is_missing) {
		report_wrong(report, "%s: command not found",
			     program->way.program ? *program->way.program
						  : *subject->command);
		report_repair(report, "install it, or name its path");
	} else if (!program->way.program) {
		report_ok(report, "%s; what it starts is not looked at",
			  *subject->command);
	} else if (program->script_cnt) {
		report_ok(report,
			  "%s, a script of %s; what it starts is not looked at",
			  program->scripts[0].path, program->path);
	} else {
		report_ok(report, "%s", program->path);
	}
}

void check_starter(struct subject *subject, struct report *report)
{
	const struct starter_way *way = &subject->program.way;

	if (!subject->command)
		return;
	if (!way->remover) {
		report_ok(report, "%s",
			  way->has_run ? "usiw run is before the "
					 "program"
				       : "none removes "
					 "LD_PRELOAD");
		return;
	}
	if (way->is_client && subject->wants_sdp) {
		report_ok(report, "%s uses sockets of its own", way->remover);
		return;
	}
	report_wrong(report, "what %s starts sees no device of usiw: %s %s",
		     way->remover, way->remover, way->why);
	report_repair(report, "put usiw run behind it: %s ... usiw run -- %s",
		      way->remover, way->program ? *way->program : "PROGRAM");
}

/* Reports if the fault is from @first to @last. */
static void fault_check(struct subject *subject, enum program_fault first,
			enum program_fault last, const char *good,
			const char *repair, struct report *report)
{
	const struct program *program = &subject->program;

	if (!subject->command || program->is_missing || !program->way.program)
		return;
	if (program->fault < first || program->fault > last) {
		report_ok(report, "%s", good);
		return;
	}
	report_wrong(report, "%s: %s", program->path,
		     program_fault_text(program->fault));
	report_repair(report, "%s%s", repair, program->path);
}

void check_binary(struct subject *subject, struct report *report)
{
	fault_check(subject, PROGRAM_STATIC, PROGRAM_OTHER_LIBC,
		    "linked dynamically, to this C library",
		    subject->program.fault == PROGRAM_STATIC
			    ? "link it without -static: "
			    : "build it for this machine and its C library: ",
		    report);
}

void check_setuid(struct subject *subject, struct report *report)
{
	fault_check(subject, PROGRAM_SETUID, PROGRAM_SETGID, "gains no rights",
		    "start it as its owner, or a copy of it: sudo usiw run "
		    "-- ",
		    report);
}

void check_capabilities(struct subject *subject, struct report *report)
{
	fault_check(subject, PROGRAM_CAPABILITIES, PROGRAM_CAPABILITIES,
		    "gains none",
		    "start it as root, or a copy of it: sudo usiw run -- ",
		    report);
}

static bool is_of_system(const char *path)
{
	static const char *const places[] = { "/lib", "/usr/lib" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (strncmp(path, places[i], strlen(places[i])) == 0)
			return true;
	return false;
}

void check_libraries(struct subject *subject, struct report *report)
{
	const struct links *links = &subject->links;
	const struct link *library = links_find(links, VERBS_LIBRARY);

	if (links->error) {
		report_wrong(report, "%s", links->error);
		report_repair(report, "install the library, or name its "
				      "directory in LD_LIBRARY_PATH");
		return;
	}
	if (!links->cnt)
		return;
	if (library && is_of_system(library->path)) {
		report_ok(report, "%s", library->path);
	} else if (library) {
		report_note(report,
			    "%s is not the distribution's: RPATH of "
			    "the program, or LD_LIBRARY_PATH",
			    library->path);
	} else if (subject->wants_sdp) {
		report_ok(report, "sockets");
	} else {
		report_note(report,
			    "%s is not linked to libibverbs: it sees "
			    "devices if it loads it later, as plugins "
			    "and interpreters do",
			    subject->program.path);
		report_repair(report, "usiw run --sdp, if it uses stream "
				      "sockets");
	}
}

void check_sanitizer(struct subject *subject, struct report *report)
{
	const char *options = getenv("ASAN_OPTIONS");
	const struct link *asan = links_find(&subject->links, "libasan.so");
	const char *preload = getenv("LD_PRELOAD");

	if (!asan)
		asan = links_find(&subject->links, "libclang_rt.asan");
	if (!asan) {
		if (subject->links.cnt)
			report_ok(report, "no library of AddressSanitizer");
	} else if (options && strstr(options, ASAN_CHECK)) {
		report_wrong(report,
			     "ASAN_OPTIONS=%s: %s ends the program, "
			     "because usiw's library is loaded first",
			     options, asan->name);
		report_repair(report, "ASAN_OPTIONS=verify_asan_link_order=0");
	} else if (!options && preload &&
		   strstr(preload, ENVIRONMENT_PRELOAD)) {
		report_note(report,
			    "%s ends the program without usiw run, "
			    "because LD_PRELOAD comes first",
			    asan->name);
		report_repair(report, "usiw run, or "
				      "ASAN_OPTIONS=verify_asan_link_order=0");
	} else {
		report_ok(report,
			  "%s; usiw run sets "
			  "verify_asan_link_order=0",
			  asan->name);
	}
}
