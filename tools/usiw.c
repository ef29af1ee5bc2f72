/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* usiw(1): selects the command. */
#include <stdio.h>
#include <string.h>

#include "util/env.h"
#include "cmd.h"
#include "program.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *what;
} commands[] = {
	{ "run", cmd_run,
	  "run a program that sees usiw devices; --sdp: for its sockets" },
	{ "devices", cmd_devices, "list the devices such a program sees" },
	{ "doctor", cmd_doctor,
	  "say what keeps programs from them, and how to repair it" },
	{ "stat", cmd_stat, "show what processes have and do" },
	{ "top", cmd_top, "show processes and their rates, on the screen" },
	{ "check", cmd_check, "say what a program does wrong with verbs" },
	{ "trace", cmd_trace, "print what a program calls and gets" },
	{ "capture", cmd_capture,
	  "write what a program sends and receives, for Wireshark" },
};

#define COMMAND_CNT (sizeof(commands) / sizeof(commands[0]))

static void usage_print(FILE *out)
{
	fputs("Usage: usiw COMMAND [ARGUMENTS]\n"
	      "RDMA verbs for every process: soft-iWARP inside the program.\n"
	      "\nCommands:\n",
	      out);
	for (size_t i = 0; i < COMMAND_CNT; i++)
		fprintf(out, "  %-10s %s\n", commands[i].name,
			commands[i].what);
	fputs("\nOptions:\n"
	      "  --help     this text, as -h; also usiw COMMAND --help\n"
	      "  --version  print the version\n",
	      out);
}

static void settings_print(FILE *out)
{
	fputs("\nSettings, in the environment or in /etc/usiw.conf:\n", out);
	for (size_t i = 0; i < util_setting_cnt; i++) {
		const struct util_setting_doc *doc = &util_setting_docs[i];

		fprintf(out, "  %s=%s\n      %s%s%s%s\n", doc->name,
			doc->values, doc->what, *doc->default_value ? " [" : "",
			doc->default_value, *doc->default_value ? "]" : "");
	}
}

/* Perhaps it is a program, and run was forgotten. */
static void word_refuse(const char *word)
{
	fprintf(stderr, "usiw: %s: no such command or option", word);
	if (program_is_there(word))
		fprintf(stderr, "; is usiw run %s meant?", word);
	fputs("\n", stderr);
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;

	if (word && cmd_is_help(word)) {
		usage_print(stdout);
		settings_print(stdout);
		return fflush(stdout) ? 1 : 0;
	}
	if (word && strcmp(word, "--version") == 0) {
		puts("usiw " USIW_VERSION);
		return fflush(stdout) ? 1 : 0;
	}
	for (size_t i = 0; word && i < COMMAND_CNT; i++)
		if (strcmp(word, commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	if (word)
		word_refuse(word);
	usage_print(stderr);
	return USAGE_EXIT;
}
