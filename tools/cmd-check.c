/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* usiw check: what a program does wrong with verbs. */
#define _GNU_SOURCE
#include "cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "check/finding.h"
#include "environment.h"
#include "json.h"
#include "launch.h"
#include "options.h"
#include "output.h"

#define LOOK_MS 20
#define FINDINGS_EXIT 1

struct check {
	struct options options;
	bool is_json;
	bool has_exitcode;
	int exitcode;
	struct findings *findings;
	int fd;	    /* of the file that processes write to */
	off_t at;   /* what is read of it */
	char *rest; /* the begin of a line */
	size_t rest_len;
};

static void check_usage(FILE *out)
{
	fputs("Usage: usiw check [--json] [--error-exitcode N] "
	      "[--suppressions FILE]\n"
	      "                  " OPTIONS_USAGE " [--] COMMAND [ARGUMENTS]\n"
	      "Runs COMMAND as usiw run does, and says what it does wrong with "
	      "verbs.\n"
	      "--json: the findings on standard output when COMMAND has ended.\n"
	      "--error-exitcode N: the exit code if there are findings.\n"
	      "--suppressions FILE: findings that are not shown; "
	      "see usiw-check(1).\n"
	      "Exit code: that of COMMAND; 1 it was 0 and there are findings; "
	      "2 wrong usage.\n",
	      out);
}

static int check_wrong(const char *what, const char *which)
{
	fprintf(stderr, "usiw: check: %s%s%s\n", which, *which ? ": " : "",
		what);
	check_usage(stderr);
	return USAGE_EXIT;
}

/* ---- options ----------------------------------------------------------- */

static int exitcode_take(struct check *check, const char *value)
{
	uint64_t code;

	if (!options_number(value, 0, 255, &code))
		return check_wrong("--error-exitcode needs 0 to 255", value);
	check->has_exitcode = true;
	check->exitcode = (int)code;
	return 0;
}

/* Return: 0; USAGE_EXIT, 1: the reason was printed. */
static int option_take(struct check *check, char **argv, int *at)
{
	enum option_outcome outcome;
	const char *wrong[2], *value;

	switch (options_take(argv, at, &check->options, wrong)) {
	case OPTION_TAKEN:
		return 0;
	case OPTION_WRONG:
		return check_wrong(wrong[1], wrong[0]);
	default:
		break;
	}
	if (strcmp(argv[*at], "--json") == 0) {
		check->is_json = true;
		++*at;
		return 0;
	}
	outcome = options_value(argv, at, "--error-exitcode", &value);
	if (outcome == OPTION_TAKEN)
		return exitcode_take(check, value);
	if (outcome == OPTION_OTHER)
		outcome = options_value(argv, at, "--suppressions", &value);
	if (outcome == OPTION_TAKEN)
		return findings_suppress(check->findings, value) ? 1 : 0;
	return check_wrong(outcome == OPTION_WRONG ? "value missing"
						   : "no such option",
			   argv[*at]);
}

static int words_take(struct check *check, char **argv, int *ret_first)
{
	int i = 1, ret = 0;

	while (!ret && argv[i] && argv[i][0] == '-' &&
	       strcmp(argv[i], "--") != 0)
		ret = option_take(check, argv, &i);
	if (ret)
		return ret;
	if (argv[i] && strcmp(argv[i], "--") == 0)
		i++;
	if (!argv[i])
		return check_wrong("command missing", "");
	*ret_first = i;
	return 0;
}

/* ---- the file ---------------------------------------------------------- */

/* Return: 0; -1: the reason was printed. */
static int file_make(struct check *check)
{
	char path[64];

	check->fd = memfd_create("usiw-check", MFD_CLOEXEC);
	if (check->fd < 0) {
		fprintf(stderr, "usiw: check: memfd_create: %s\n",
			strerror(errno));
		return -1;
	}
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(),
		 check->fd);
	return environment_put("USIW_CHECK", path, true);
}

static void lines_take(struct check *check)
{
	char *begin = check->rest, *end;
	size_t left = check->rest_len;

	while (left && (end = memchr(begin, '\n', left))) {
		findings_take(check->findings, begin, (size_t)(end - begin));
		left -= (size_t)(end + 1 - begin);
		begin = end + 1;
	}
	memmove(check->rest, begin, left);
	check->rest_len = left;
}

/* Takes what was written since the last call. */
static void file_look(struct check *check)
{
	static char buf[65536];
	char *rest;
	ssize_t len;

	while ((len = pread(check->fd, buf, sizeof(buf), check->at)) > 0) {
		rest = realloc(check->rest, check->rest_len + (size_t)len);
		if (!rest)
			return;
		memcpy(rest + check->rest_len, buf, (size_t)len);
		check->rest = rest;
		check->rest_len += (size_t)len;
		check->at += len;
		lines_take(check);
	}
}

/* ---- the program ------------------------------------------------------- */

static volatile sig_atomic_t child;

/* The program decides what it does then; the findings come afterwards. */
static void pass_on(int sig)
{
	if (child > 0)
		kill((pid_t)child, sig);
}

static int program_wait(struct check *check, struct launched *program)
{
	const struct timespec wait = { .tv_nsec = LOOK_MS * 1000000L };

	while (launched_lives(program)) {
		file_look(check);
		nanosleep(&wait, NULL);
	}
	file_look(check);
	return launched_exit_code(program);
}

static int result(const struct check *check, int status)
{
	if (!findings_cnt(check->findings))
		return status;
	if (check->has_exitcode)
		return check->exitcode;
	return status ? status : FINDINGS_EXIT;
}

static int check_run(struct check *check, char **argv)
{
	struct launched program;
	int status, ret;

	check->options.is_checked = true;
	if (file_make(check) < 0 || launch_prepare(&check->options, argv) < 0)
		return 1;
	if (!check->is_json)
		findings_print_to(check->findings, stderr);
	/* The terminal sends it to the program, too. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, pass_on);
	if (launch_spawn(&program, "check", argv) < 0)
		return 1;
	child = program.pid;
	status = program_wait(check, &program);
	ret = result(check, status);
	if (!check->is_json)
		findings_end(check->findings, stderr);
	else if (json_print("check", findings_json(check->findings)))
		ret = 1;
	return ret;
}

int cmd_check(int argc, char **argv)
{
	struct check check = { .fd = -1 };
	int first = 1, ret;

	if (argc > 1 && cmd_is_help(argv[1])) {
		check_usage(stdout);
		return fflush(stdout) ? 1 : 0;
	}
	check.findings = findings_new();
	if (!check.findings) {
		fputs("usiw: check: out of memory\n", stderr);
		return 1;
	}
	ret = words_take(&check, argv, &first);
	if (!ret)
		ret = check_run(&check, argv + first);
	findings_free(check.findings);
	free(check.rest);
	if (check.fd >= 0)
		close(check.fd);
	return ret;
}
