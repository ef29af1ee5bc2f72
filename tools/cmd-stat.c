/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* usiw stat: what processes have and do, once or again and again. */
#define _GNU_SOURCE
#include "cmd.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "options.h"
#include "output.h"
#include "stat/table.h"
#include "stat/tree.h"
#include "util/env.h"

/* Cursor home, and erase the rest of the screen. */
#define CLEAR "\033[H\033[J"
#define WATCH_MAX 86400

static struct {
	struct filter filter;
	bool is_json;
	unsigned int watch_s; /* 0: once */
} config;

static void stat_usage(FILE *out)
{
	fputs("Usage: usiw stat [OPTIONS] [PID | FILE | DIRECTORY ...]\n"
	      "Shows what processes with usiw devices have and do: a line for "
	      "each process,\n"
	      "or, with PID, all of its resources.\n\n"
	      "Kinds of resources:\n"
	      "  --devices --contexts --pds --cqs --srqs --qps --mrs --conns "
	      "--sdp --counters\n"
	      "Filters:\n"
	      "  --device NAME         of this device\n"
	      "  --qp NUMBER           this queue pair, with all that is known "
	      "of it\n"
	      "  --peer ADDRESS[:PORT] with this peer\n"
	      "  --state STATE         in this state, as rts or listening\n"
	      "Output:\n"
	      "  -j, --json            a JSON object\n"
	      "  -w, --watch[=SECONDS] again and again [1]\n\n"
	      "FILE is the counter page of a process that was run with "
	      "USIW_STAT_DIR, DIRECTORY\n"
	      "that directory; both also after the process has ended.\n"
	      "Exit code: 0; 1 no such process or page; 2 wrong usage.\n\n"
	      "Examples:\n"
	      "  usiw stat\n"
	      "  usiw stat 4711 --qps --state rts\n"
	      "  usiw stat --json | jq '.processes[].qps | length'\n"
	      "  usiw stat --watch 4711 --qp 0x12\n",
	      out);
}

static int wrong(const char *which, const char *what)
{
	fprintf(stderr, "usiw: stat: %s: %s\n", which, what);
	stat_usage(stderr);
	return USAGE_EXIT;
}

/* ---- options ------------------------------------------------------------- */

enum {
	OPTION_KIND = 0x100, /* and its index */
	OPTION_SDP = 0x200,
	OPTION_COUNTERS,
	OPTION_DEVICE,
	OPTION_QP,
	OPTION_PEER,
	OPTION_STATE,
};

/* Return: 0; USAGE_EXIT: the reason was printed; -1: exit with success. */
static int option_take(int option)
{
	uint64_t number = 1;

	switch (option) {
	case 'j':
		config.is_json = true;
		return 0;
	case 'w':
		if (optarg && !options_number(optarg, 1, WATCH_MAX, &number))
			return wrong(optarg, "not a number of seconds, 1 to "
					     "86400");
		config.watch_s = (unsigned int)number;
		return 0;
	case 'h':
		stat_usage(stdout);
		return -1;
	case OPTION_SDP:
		config.filter.wants_sdp = true;
		return 0;
	case OPTION_COUNTERS:
		config.filter.wants_counters = true;
		return 0;
	case OPTION_DEVICE:
		config.filter.device = optarg;
		return 0;
	case OPTION_PEER:
		config.filter.peer = optarg;
		return 0;
	case OPTION_STATE:
		config.filter.state = optarg;
		return 0;
	case OPTION_QP:
		if (!options_number(optarg, 0, UINT32_MAX, &number))
			return wrong(optarg, "not a queue pair number");
		config.filter.has_qp = true;
		config.filter.qp = (uint32_t)number;
		return 0;
	default:
		break;
	}
	if (option < OPTION_KIND || option >= OPTION_KIND + FIELDS_KIND_CNT) {
		stat_usage(stderr);
		return USAGE_EXIT;
	}
	config.filter.is_selected[option - OPTION_KIND] = true;
	return 0;
}

static int options_read(int argc, char **argv)
{
	static char program[] = "usiw: stat";
	struct option options[FIELDS_KIND_CNT + 10] = {
		{ "json", no_argument, NULL, 'j' },
		{ "watch", optional_argument, NULL, 'w' },
		{ "help", no_argument, NULL, 'h' },
		{ "sdp", no_argument, NULL, OPTION_SDP },
		{ "counters", no_argument, NULL, OPTION_COUNTERS },
		{ "device", required_argument, NULL, OPTION_DEVICE },
		{ "qp", required_argument, NULL, OPTION_QP },
		{ "peer", required_argument, NULL, OPTION_PEER },
		{ "state", required_argument, NULL, OPTION_STATE },
	};
	int option, ret = 0;

	argv[0] = program; /* in getopt's messages */
	for (int i = 0; i < FIELDS_KIND_CNT; i++)
		options[9 + i] = (struct option){ fields_kinds[i].option,
						  no_argument, NULL,
						  OPTION_KIND + i };
	while (ret == 0 &&
	       (option = getopt_long(argc, argv, "jw::h", options, NULL)) != -1)
		ret = option_take(option);
	return ret;
}

/* ---- processes ----------------------------------------------------------- */

static int pid_add(struct process_list *list, int pid)
{
	int ret = process_find(list, pid);

	if (ret < 0)
		fprintf(stderr, "usiw: stat: process %d: %s\n", pid,
			process_error(ret));
	return ret;
}

static int file_add(struct process_list *list, const char *path)
{
	int ret = process_find_file(list, path);

	if (ret < 0)
		fprintf(stderr, "usiw: stat: %s: %s\n", path,
			ret == -EPROTO ? "not a counter page, or damaged"
			: ret == -EPROTONOSUPPORT ? process_error(ret)
						  : strerror(-ret));
	return ret;
}

static bool is_pid(const char *word, uint64_t *ret_pid)
{
	return options_number(word, 1, INT32_MAX, ret_pid);
}

/* Return: 0; -errno, after a message. */
static int word_add(struct process_list *list, const char *word)
{
	uint64_t pid;

	if (is_pid(word, &pid))
		return pid_add(list, (int)pid);
	return file_add(list, word);
}

static int all_add(struct process_list *list)
{
	const char *dir = util_settings()->stat_dir;
	int ret = process_find(list, 0);

	if (ret < 0)
		fprintf(stderr, "usiw: stat: /proc: %s\n", strerror(-ret));
	else if (list->misfit_pid)
		fprintf(stderr, "usiw: stat: process %d: %s\n",
			list->misfit_pid, process_error(-EPROTONOSUPPORT));
	if (ret == 0 && dir)
		ret = file_add(list, dir);
	return ret;
}

static int list_make(struct process_list *list, char **words)
{
	int ret = 0;

	if (!*words)
		return all_add(list);
	for (; *words; words++)
		if (word_add(list, *words) < 0)
			ret = -1;
	return ret;
}

/* Adds what has come since.  What is wrong was said before.  A process that was
 * named by its ID is not looked for again. */
static int list_renew(struct process_list *list, char **words)
{
	const char *dir = util_settings()->stat_dir;
	int ret = *words ? 0 : process_find(list, 0);
	uint64_t pid;

	if (!*words && dir)
		(void)process_find_file(list, dir);
	for (; *words; words++)
		if (!is_pid(*words, &pid))
			(void)process_find_file(list, *words);
	return ret;
}

/* ---- show ---------------------------------------------------------------- */

/* Return: 0; -errno. */
static int tables_print(const struct process_list *list, bool has_words)
{
	int ret = 0;

	if (!has_words && !filter_is_narrow(&config.filter))
		return table_processes(list);
	for (size_t i = 0; i < list->cnt && ret == 0; i++)
		ret = table_process(list->at[i], &config.filter, has_words);
	return ret;
}

/* Return: the exit code. */
static int show(const struct process_list *list, bool has_words)
{
	int ret;

	if (config.is_json)
		return json_print("stat", tree_make(list, &config.filter));
	ret = tables_print(list, has_words);
	if (ret < 0) {
		fprintf(stderr, "usiw: stat: %s\n", strerror(-ret));
		return 1;
	}
	return output_end("stat");
}

/* What is shown may change. */
static bool list_has_life(const struct process_list *list)
{
	for (size_t i = 0; i < list->cnt; i++)
		if (!list->at[i]->has_ended ||
		    (list->at[i]->proc_fd >= 0 && process_lives(list->at[i])))
			return true;
	return false;
}

static void watch_wait(void)
{
	struct timespec left = { .tv_sec = config.watch_s };

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

static int watch(struct process_list *list, char **words)
{
	bool has_words = *words;
	bool clears = !config.is_json && isatty(STDOUT_FILENO);
	int ret = 0;

	for (;;) {
		if (clears)
			fputs(CLEAR, stdout);
		ret = show(list, has_words);
		if (ret || (has_words && !list_has_life(list)))
			return ret;
		watch_wait();
		process_list_refresh(list, has_words);
		if (list_renew(list, words) < 0)
			return 1;
	}
}

int cmd_stat(int argc, char **argv)
{
	struct process_list list = { .cnt = 0 };
	int ret = options_read(argc, argv);
	char **words = argv + optind;

	if (ret)
		return ret < 0 ? output_end("stat") : ret;
	util_settings_set_quiet();
	if (output_begin("stat"))
		return 1;
	ret = list_make(&list, words) < 0;
	if (list.cnt || !*words || !ret)
		ret |= config.watch_s ? watch(&list, words)
				      : show(&list, *words);
	process_list_free(&list);
	return ret;
}
