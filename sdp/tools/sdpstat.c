/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* sdpstat(1): shows the SDP sockets of this user's processes. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/env.h"
#include "tools/stat-find.h"
#include "tools/stat-print.h"

#define USAGE_EXIT 2
/* Cursor home, then erase the rest of the screen, as clear(1) does. */
#define CLEAR "\033[H\033[J"

static struct {
	int pid; /* 0: all */
	bool is_json;
	unsigned int watch_s; /* 0: once */
	char **files;
} config;

static void usage_print(FILE *out)
{
	fputs("Usage: sdpstat [OPTIONS] [FILE|DIRECTORY...]\n"
	      "Shows the sockets and counters of processes that use the Sockets "
	      "Direct\n"
	      "Protocol: those of this user, of every user for root.\n\n"
	      "  -p, --pid PID          this process only\n"
	      "  -j, --json             one JSON object on a line\n"
	      "  -w, --watch[=SECONDS]  again and again [1]\n"
	      "      --help             this text\n"
	      "      --version          print the version\n\n"
	      "FILE is the page of a process that was run with USIW_STAT_DIR, "
	      "DIRECTORY that\n"
	      "directory; both also after the process has ended.  Without "
	      "them: running\n"
	      "processes, and USIW_STAT_DIR if it is set.\n"
	      "Exit code: 0; 1 there is no such process or page; 2 wrong "
	      "usage.\n",
	      out);
}

static int wrong(const char *what, const char *which)
{
	fprintf(stderr, "sdpstat: %s: %s\n", which, what);
	usage_print(stderr);
	return USAGE_EXIT;
}

static bool number_take(const char *text, long max, long *ret_value)
{
	char *end;

	errno = 0;
	*ret_value = strtol(text, &end, 10);
	return !errno && end != text && !*end && *ret_value > 0 &&
	       *ret_value <= max;
}

/* Return: 0; USAGE_EXIT, after an error message; -1: exit now with success. */
static int option_take(int option)
{
	long value = 1;

	switch (option) {
	case 'p':
		if (!number_take(optarg, INT32_MAX, &value))
			return wrong("not a process number", optarg);
		config.pid = (int)value;
		return 0;
	case 'j':
		config.is_json = true;
		return 0;
	case 'w':
		if (optarg && !number_take(optarg, 86400, &value))
			return wrong("not a number of seconds, 1 to 86400",
				     optarg);
		config.watch_s = (unsigned int)value;
		return 0;
	case 'h':
		usage_print(stdout);
		return -1;
	case 'V':
		puts("sdpstat " USIW_VERSION);
		return -1;
	default:
		usage_print(stderr);
		return USAGE_EXIT;
	}
}

static int options_take(int argc, char **argv)
{
	static const struct option options[] = {
		{ "pid", required_argument, NULL, 'p' },
		{ "json", no_argument, NULL, 'j' },
		{ "watch", optional_argument, NULL, 'w' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int option, ret = 0;

	while (ret == 0 && (option = getopt_long(argc, argv, "p:jw::", options,
						 NULL)) != -1)
		ret = option_take(option);
	config.files = argv + optind;
	return ret;
}

/* A process is found in /proc, or by its file with USIW_STAT_DIR. With -p,
 * files of other processes are left out. */
static void files_filter(struct stat_list *list, size_t first)
{
	size_t kept = first;

	for (size_t i = first; i < list->cnt; i++) {
		if (config.pid && list->process[i].pid != config.pid)
			sdp_stat_snapshot_free(&list->process[i].snapshot);
		else
			list->process[kept++] = list->process[i];
	}
	list->cnt = kept;
}

#define NO_PAGE                                                                \
	"no statistics page of this build: use the sdpstat that was "          \
	"installed with the program's libsdp.so"

static int file_add(struct stat_list *list, const char *path)
{
	size_t first = list->cnt;
	int ret = stat_find_file(list, path);

	files_filter(list, first);
	if (ret < 0)
		fprintf(stderr, "sdpstat: %s: %s\n", path,
			ret == -EPROTO	 ? NO_PAGE
			: ret == -EAGAIN ? "the page is being created"
					 : strerror(-ret));
	return ret;
}

/* Return: 0; negative errno, after an error message. */
static int pages_find(struct stat_list *list)
{
	const char *dir = util_settings()->stat_dir;
	int ret = 0;

	for (char **file = config.files; *file && ret == 0; file++)
		ret = file_add(list, *file);
	if (*config.files)
		return ret;
	ret = stat_find_processes(list, config.pid);
	if (ret < 0)
		fprintf(stderr, "sdpstat: /proc: %s\n", strerror(-ret));
	else if (list->misfit_pid)
		fprintf(stderr, "sdpstat: process %d: " NO_PAGE "\n",
			list->misfit_pid);
	if (ret == 0 && dir)
		ret = file_add(list, dir);
	return ret;
}

/* Return: the exit code. */
static int show(void)
{
	struct stat_list list = { .cnt = 0 };
	int ret = pages_find(&list) < 0;

	if (config.is_json)
		stat_print_json(stdout, &list);
	else
		stat_print_table(stdout, &list);
	if (ret == 0 && list.cnt == 0 && config.pid) {
		fprintf(stderr,
			"sdpstat: process %d is not there, does not use SDP, "
			"or is another user's\n",
			config.pid);
		ret = 1;
	}
	stat_list_clear(&list);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "sdpstat: standard output: %s\n",
			strerror(errno));
		ret = 1;
	}
	return ret;
}

int main(int argc, char **argv)
{
	int ret = options_take(argc, argv);

	if (ret < 0)
		return fflush(stdout) ? 1 : 0;
	if (ret > 0)
		return ret;
	for (;;) {
		if (config.watch_s && !config.is_json && isatty(STDOUT_FILENO))
			fputs(CLEAR, stdout);
		ret = show();
		if (!config.watch_s || ferror(stdout))
			return ret;
		sleep(config.watch_s);
	}
}
