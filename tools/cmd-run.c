/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* usiw run: starts a program with the preload library and the provider. */
#include "cmd.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "environment.h"
#include "program.h"
#include "setting.h"

#define PERSONA_OPTION "--persona"
#define SDP_OPTION "--sdp"

/* Options. */
static bool wants_sdp;

static void run_usage(FILE *out)
{
	fputs("Usage: usiw run [--persona rnic|ca] [--sdp] [--] COMMAND "
	      "[ARGUMENTS]\n"
	      "Runs COMMAND, and what it runs itself, with " ENVIRONMENT_PRELOAD
	      " preloaded:\n"
	      "libibverbs and librdmacm in it find usiw devices.  Settings: "
	      "usiw --help.\n"
	      "--persona: devices are iWARP RNICs, or InfiniBand-style channel "
	      "adapters\n"
	      "(sets USIW_PERSONA).\n"
	      "--sdp: its stream sockets use RDMA; see libsdp(7).\n"
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

/* Return: 0; USAGE_EXIT or 1: the reason was printed. */
static int persona_set(const char *name)
{
	if (!name)
		return run_wrong("value missing: rnic or ca", PERSONA_OPTION);
	if (strcmp(name, "rnic") != 0 && strcmp(name, "ca") != 0)
		return run_wrong("no such persona: use rnic or ca", name);
	return environment_put("USIW_PERSONA", name, true) < 0 ? 1 : 0;
}

/*
 * Return: 0: *ret_first is the index of the command; USAGE_EXIT or 1: the
 * reason was printed.
 */
static int options_take(char **argv, int *ret_first)
{
	const char *value;
	int i = 1, ret;

	for (; argv[i] && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--") == 0) {
			i++;
			break;
		}
		if (strcmp(argv[i], SDP_OPTION) == 0) {
			wants_sdp = true;
			continue;
		}
		if (strcmp(argv[i], PERSONA_OPTION) == 0)
			value = argv[++i];
		else if (strncmp(argv[i], PERSONA_OPTION "=",
				 sizeof(PERSONA_OPTION)) == 0)
			value = argv[i] + sizeof(PERSONA_OPTION);
		else
			return run_wrong("no such option", argv[i]);
		ret = persona_set(value);
		if (ret)
			return ret;
	}
	if (!argv[i])
		return run_wrong("command missing", "");
	*ret_first = i;
	return 0;
}

int cmd_run(int argc, char **argv)
{
	int first = 1, ret, err;

	if (argc > 1 && cmd_is_help(argv[1])) {
		run_usage(stdout);
		return fflush(stdout) ? 1 : 0;
	}
	ret = options_take(argv, &first);
	if (ret)
		return ret;
	if (environment_set(wants_sdp) < 0)
		return 1;
	setting_warn_mistyped();
	program_warn(argv + first);
	execvp(argv[first], argv + first);
	err = errno;
	fprintf(stderr, "usiw: run: %s: %s\n", argv[first],
		err == ENOENT ? "command not found" : strerror(err));
	return err == ENOENT ? 127 : 126;
}
