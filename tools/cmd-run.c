/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* usiw run: starts a program with the preload library and the provider. */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "environment.h"
#include "fault.h"
#include "launch.h"
#include "options.h"

static void run_usage(FILE *out)
{
	fputs("Usage: usiw run " OPTIONS_USAGE " [--fault RULES]\n"
	      "                [--chaos SEED[,hard]] [--] COMMAND [ARGUMENTS]\n"
	      "Runs COMMAND, and what it runs itself, with " ENVIRONMENT_PRELOAD
	      " preloaded:\n"
	      "libibverbs and librdmacm in it find usiw devices.  Settings: "
	      "usiw --help.\n"
	      "--persona: devices are iWARP RNICs, or InfiniBand-style channel "
	      "adapters\n"
	      "(sets USIW_PERSONA).\n"
	      "--sdp: its stream sockets use RDMA; see libsdp(7).\n"
	      "--fault: faults happen to it, as in stream=reset,after=1M; see "
	      "usiw-fault(7).\n"
	      "--chaos: a mix of them that a correct program survives, drawn "
	      "by the seed;\n"
	      "hard: also one that ends a connection, or lets work fail.\n"
	      "Exit code: that of COMMAND; 127 not found, 126 not executable, "
	      "1 usiw is\n"
	      "incomplete, 2 wrong usage.\n",
	      out);
}

static int run_wrong(const char *what, const char *which)
{
	fprintf(stderr, "usiw: run: %s%s%s\n", which, *which ? ": " : "", what);
	run_usage(stderr);
	return USAGE_EXIT;
}

/*
 * Return: 0: *ret_first is the index of the command; USAGE_EXIT or 1: the
 * reason was printed.
 */
static int words_take(char **argv, struct options *options, int *ret_first)
{
	const char *wrong[2];
	int i = 1, ret;

	while (argv[i] && argv[i][0] == '-' && strcmp(argv[i], "--") != 0) {
		switch (options_take(argv, &i, options, wrong)) {
		case OPTION_TAKEN:
			break;
		case OPTION_OTHER:
			ret = fault_take(argv, &i);
			if (ret < 0)
				return run_wrong("no such option", argv[i]);
			if (ret)
				return ret;
			break;
		case OPTION_WRONG:
			return run_wrong(wrong[1], wrong[0]);
		}
	}
	if (argv[i] && strcmp(argv[i], "--") == 0)
		i++;
	if (!argv[i])
		return run_wrong("command missing", "");
	*ret_first = i;
	return 0;
}

int cmd_run(int argc, char **argv)
{
	struct options options = { 0 };
	int first = 1, ret;

	if (argc > 1 && cmd_is_help(argv[1])) {
		run_usage(stdout);
		return fflush(stdout) ? 1 : 0;
	}
	ret = words_take(argv, &options, &first);
	if (ret)
		return ret;
	if (launch_prepare(&options, argv + first) < 0)
		return 1;
	return launch_exec("run", argv + first);
}
