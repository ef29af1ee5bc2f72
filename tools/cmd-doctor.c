/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* usiw doctor: what keeps programs from devices, and how to repair it. */
#define _GNU_SOURCE
#include "cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/env.h"
#include "doctor/inside.h"
#include "doctor/probe.h"
#include "doctor/table.h"
#include "options.h"
#include "output.h"
#include "verbs.h"

static void doctor_usage(FILE *out)
{
	fputs("Usage: usiw doctor [-q] [--json] " OPTIONS_USAGE
	      " [--] [COMMAND [ARGUMENTS]]\n"
	      "Says what is wrong, and how to repair it: for a program that "
	      "usiw run starts,\n"
	      "and for COMMAND, which is not run.\n"
	      "-q, --quiet: print only what is wrong.\n"
	      "-j, --json: print JSON; usiw(1) describes it.\n"
	      "--persona, --sdp: as usiw run would be called.\n"
	      "Exit code: 0 nothing is wrong; 1 something is, or the output "
	      "could not be\n"
	      "written; 2 wrong usage.\n"
	      "\nExamples:\n"
	      "  usiw doctor\n"
	      "  usiw doctor -- ib_write_bw -R\n"
	      "  usiw doctor -q --persona ca -- ucx_perftest || exit\n"
	      "\nChecks:\n",
	      out);
	for (size_t i = 0; i < doctor_check_cnt; i++)
		fprintf(out, "  %-12s %s\n", doctor_checks[i].name,
			doctor_checks[i].what);
}

static int doctor_wrong(const char *what, const char *which)
{
	fprintf(stderr, "usiw: doctor: %s: %s\n", which, what);
	doctor_usage(stderr);
	return USAGE_EXIT;
}

struct request {
	bool is_quiet, wants_json;
	struct options options;
	char *const *command; /* NULL: none */
};

static int words_take(char **argv, struct request *request)
{
	const char *wrong[2];
	int i = 1;

	while (argv[i] && argv[i][0] == '-' && strcmp(argv[i], "--") != 0) {
		if (strcmp(argv[i], "-q") == 0 ||
		    strcmp(argv[i], "--quiet") == 0) {
			request->is_quiet = true;
			i++;
			continue;
		}
		if (strcmp(argv[i], "-j") == 0 ||
		    strcmp(argv[i], "--json") == 0) {
			request->wants_json = true;
			i++;
			continue;
		}
		switch (options_take(argv, &i, &request->options, wrong)) {
		case OPTION_TAKEN:
			break;
		case OPTION_OTHER:
			return doctor_wrong("no such option", argv[i]);
		case OPTION_WRONG:
			return doctor_wrong(wrong[1], wrong[0]);
		}
	}
	if (argv[i] && strcmp(argv[i], "--") == 0)
		i++;
	request->command = argv[i] ? argv + i : NULL;
	return 0;
}

/* What usiw run would be told, and what the command says to a usiw run in it:
 * the latter is last. */
static int settings_set(struct subject *subject, struct options *options)
{
	const struct starter_way *way = &subject->program.way;

	if (way->persona)
		options->persona = way->persona;
	subject->wants_sdp = options->wants_sdp || way->wants_sdp;
	if (options_set(options) < 0)
		return -1;
	subject->is_ca = util_settings()->persona == UTIL_PERSONA_CA;
	return 0;
}

static void subject_look(struct subject *subject)
{
	const struct program *program = &subject->program;
	const struct link *link;

	if (subject->command && !program->is_missing && program->way.program &&
	    (program->fault == PROGRAM_FITS ||
	     program->fault >= PROGRAM_SETUID))
		links_look(&subject->links, program->path);
	link = links_find(&subject->links, VERBS_LIBRARY);
	inside_look(&subject->inside, link ? link->path : VERBS_LIBRARY,
		    subject->wants_sdp);
}

static int doctor_run(struct request *request)
{
	struct subject subject = { .command = request->command };
	struct report report = { 0 };
	int ret = 0;

	/* The process inside tells what is wrong with the settings. */
	util_settings_set_quiet();
	if (subject.command)
		program_examine(subject.command, &subject.program);
	if (settings_set(&subject, &request->options) < 0)
		return 1;
	subject_look(&subject);
	for (size_t i = 0; i < doctor_check_cnt; i++) {
		report.check = doctor_checks[i].name;
		doctor_checks[i].run(&subject, &report);
	}
	if (request->wants_json) {
		ret = report_print_json(&report, subject.command);
	} else {
		report_print(&report, request->is_quiet);
		ret = output_end("doctor");
	}
	if (report.is_out_of_memory) {
		fputs("usiw: doctor: out of memory\n", stderr);
		ret = 1;
	}
	if (report_cnt(&report, VERDICT_WRONG))
		ret = 1;
	report_free(&report);
	inside_free(&subject.inside);
	links_free(&subject.links);
	return ret;
}

int cmd_doctor(int argc, char **argv)
{
	struct request request = { 0 };
	int ret;

	if (argc > 1 && cmd_is_help(argv[1])) {
		doctor_usage(stdout);
		return fflush(stdout) ? 1 : 0;
	}
	if (argc == 3 && strcmp(argv[1], INSIDE_WORD) == 0)
		return probe_run(argv[2]);
	ret = words_take(argv, &request);
	if (ret)
		return ret;
	if (output_begin("doctor"))
		return 1;
	return doctor_run(&request);
}
