/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* usiw top: processes, queue pairs and their rates, on the whole screen. */
#define _GNU_SOURCE
#include "cmd.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "top/screen.h"
#include "util/clock.h"
#include "util/env.h"

#define DELAY_MAX_MS 86400000L

static volatile sig_atomic_t is_stopped;

static void stop(int sig)
{
	(void)sig;
	is_stopped = 1;
}

static void top_usage(FILE *out)
{
	fputs("Usage: usiw top [-d SECONDS] [PID]\n"
	      "Shows processes with usiw devices on the whole screen, with "
	      "their rates; keys\n"
	      "select, sort, filter, and open a process and one of its queue "
	      "pairs (h: help).\n"
	      "  -d, --delay SECONDS   between two looks [1]\n"
	      "PID opens this process.\n"
	      "Exit code: 0; 1 no terminal or no such process; 2 wrong "
	      "usage.\n\n"
	      "Examples:\n"
	      "  usiw top\n"
	      "  usiw top -d 0.5 4711\n",
	      out);
}

struct top {
	struct top_model *model;
	struct screen_state state[TOP_QP + 1];
	enum screen_mode mode;
	char note[128]; /* under the table, until the next key */
	uint64_t delay_ms, next_ns;
};

static struct screen_state *state_of(struct top *top)
{
	return &top->state[top_model_level(top->model)];
}

/* ---- keys ---------------------------------------------------------------- */

/* @by rows on, or to an end. */
static void select_by(struct top *top, long by)
{
	struct screen_state *state = state_of(top);
	size_t cnt = top_model_sort(top->model, state->column,
				    state->is_reverse, state->filter);
	long place = 0;

	if (!cnt)
		return;
	while ((size_t)place < cnt &&
	       top_model_row(top->model, (size_t)place)->id != state->selected)
		place++;
	if (by < 0 && place < -by)
		place = 0;
	else
		place += by;
	if ((size_t)place >= cnt)
		place = (long)cnt - 1;
	state->selected = top_model_row(top->model, (size_t)place)->id;
}

/* Whichever it is, in the new order. */
static void select_first(struct screen_state *state)
{
	state->first = 0;
	state->selected = UINT64_MAX;
}

static void sort_by(struct top *top, bool is_next)
{
	struct screen_state *state = state_of(top);
	size_t cnt;

	(void)top_model_columns(top->model, &cnt);
	state->column = (state->column + (is_next ? 1 : cnt - 1)) % cnt;
	select_first(state);
}

static void level_open(struct top *top)
{
	struct screen_state *below;

	if (!top_model_open(top->model, state_of(top)->selected))
		return;
	below = state_of(top);
	select_first(below);
	*below->filter = '\0';
	top->next_ns = 0;
}

static void level_close(struct top *top)
{
	struct screen_state *state = state_of(top);

	if (*state->filter)
		*state->filter = '\0';
	else if (top_model_close(top->model))
		top->next_ns = 0;
}

/* Return: false: quit. */
static bool letter_take(struct top *top, char letter)
{
	struct screen_state *state = state_of(top);

	switch (letter) {
	case 'q':
		return false;
	case 'h':
	case '?':
		top->mode = SCREEN_HELP;
		return true;
	case '/':
		top->mode = SCREEN_FILTER;
		*state->filter = '\0';
		return true;
	case 'r':
		state->is_reverse = !state->is_reverse;
		select_first(state);
		return true;
	case '<':
	case '>':
		sort_by(top, letter == '>');
		return true;
	default:
		return true;
	}
}

static void filter_take(struct top *top, enum screen_key key, char letter)
{
	struct screen_state *state = state_of(top);
	size_t len = strlen(state->filter);

	if (key == SCREEN_OPEN)
		top->mode = SCREEN_TABLE;
	if (key == SCREEN_BACK) {
		*state->filter = '\0';
		top->mode = SCREEN_TABLE;
	}
	if (key == SCREEN_ERASE && len)
		state->filter[len - 1] = '\0';
	if (key == SCREEN_CHARACTER && len + 1 < sizeof(state->filter)) {
		state->filter[len] = letter;
		state->filter[len + 1] = '\0';
	}
	state->first = 0;
}

/* Return: false: quit. */
static bool key_take(struct top *top, enum screen_key key, char letter)
{
	long page = (long)screen_rows();

	*top->note = '\0';
	if (top->mode == SCREEN_FILTER) {
		filter_take(top, key, letter);
		return true;
	}
	if (top->mode == SCREEN_HELP) {
		top->mode = SCREEN_TABLE;
		return true;
	}
	switch (key) {
	case SCREEN_UP:
	case SCREEN_DOWN:
		select_by(top, key == SCREEN_UP ? -1 : 1);
		return true;
	case SCREEN_PAGE_UP:
	case SCREEN_PAGE_DOWN:
		select_by(top, key == SCREEN_PAGE_UP ? -page : page);
		return true;
	case SCREEN_FIRST:
	case SCREEN_LAST:
		select_by(top, key == SCREEN_FIRST ? -INT32_MAX : INT32_MAX);
		return true;
	case SCREEN_OPEN:
		level_open(top);
		return true;
	case SCREEN_BACK:
	case SCREEN_ERASE:
		level_close(top);
		return true;
	case SCREEN_CHARACTER:
		return letter_take(top, letter);
	case SCREEN_GONE:
		return false;
	case SCREEN_NOTHING:
	case SCREEN_REDRAW:
		break;
	}
	return true;
}

/* ---- the loop ------------------------------------------------------------ */

static int sample(struct top *top)
{
	enum top_level level = top_model_level(top->model);
	int ret = top_model_sample(top->model);

	if (ret == -ENOENT) {
		snprintf(top->note, sizeof(top->note), "%s",
			 level == TOP_QPS ? "The program has ended."
					  : "The queue pair, or its program, "
					    "has gone.");
		ret = 0;
	}
	top->next_ns =
		util_clock_ns(CLOCK_MONOTONIC) + top->delay_ms * NS_PER_MS;
	return ret;
}

static int left_ms(const struct top *top)
{
	uint64_t now = util_clock_ns(CLOCK_MONOTONIC);

	if (now >= top->next_ns)
		return 0;
	return (int)((top->next_ns - now + NS_PER_MS - 1) / NS_PER_MS);
}

/* Return: 0: the user has quit; -errno. */
static int run(struct top *top)
{
	enum screen_key key;
	char letter = 0;
	int ret;

	do {
		if (left_ms(top) == 0) {
			ret = sample(top);
			if (ret < 0)
				return ret;
		}
		screen_draw(top->model, state_of(top), top->mode,
			    *top->note ? top->note : NULL);
		key = screen_key(left_ms(top), &letter);
	} while (!is_stopped && key_take(top, key, letter));
	return 0;
}

static int top_show(struct top *top)
{
	int ret;

	if (screen_open() < 0)
		return 1;
	ret = run(top);
	screen_close();
	if (ret < 0)
		fprintf(stderr, "usiw: top: %s\n", strerror(-ret));
	return ret < 0;
}

/* Opens the process. Return: 0; 1: the reason was printed. */
static int pid_open(struct top *top, int pid)
{
	struct process_list list = { .cnt = 0 };
	int ret = process_find(&list, pid);

	process_list_free(&list);
	if (ret < 0) {
		fprintf(stderr, "usiw: top: process %d: %s\n", pid,
			process_error(ret));
		return 1;
	}
	if (top_model_sample(top->model) < 0 ||
	    !top_model_open(top->model, (uint64_t)pid)) {
		fprintf(stderr, "usiw: top: process %d has ended\n", pid);
		return 1;
	}
	return 0;
}

static int wrong(const char *which, const char *what)
{
	fprintf(stderr, "usiw: top: %s: %s\n", which, what);
	top_usage(stderr);
	return USAGE_EXIT;
}

/* Return: 0; USAGE_EXIT: the reason was printed; -1: exit with success. */
static int options_read(int argc, char **argv, struct top *top)
{
	static const struct option options[] = {
		{ "delay", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	static char program[] = "usiw: top";
	double seconds;
	int option;
	char *end;

	argv[0] = program; /* in getopt's messages */
	while ((option = getopt_long(argc, argv, "d:h", options, NULL)) != -1) {
		if (option == 'h') {
			top_usage(stdout);
			return -1;
		}
		if (option != 'd') {
			top_usage(stderr);
			return USAGE_EXIT;
		}
		seconds = strtod(optarg, &end);
		if (*end || !(seconds >= 0.1 && seconds <= 86400))
			return wrong(optarg, "not a number of seconds, 0.1 to "
					     "86400");
		top->delay_ms = (uint64_t)(seconds * 1000);
	}
	return 0;
}

/* Return: as options_read(). */
static int words_take(char **words, int *ret_pid)
{
	uint64_t pid;

	if (!*words)
		return 0;
	if (!options_number(*words, 1, INT32_MAX, &pid))
		return wrong(*words, "not a process ID");
	if (words[1])
		return wrong(words[1], "one process at most");
	*ret_pid = (int)pid;
	return 0;
}

int cmd_top(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = stop };
	struct top top = { .delay_ms = 1000 };
	int ret = options_read(argc, argv, &top), pid = 0;

	if (ret)
		return ret < 0 ? fflush(stdout) != 0 : ret;
	ret = words_take(argv + optind, &pid);
	if (ret)
		return ret;
	util_settings_set_quiet();
	/* Without SA_RESTART: the wait for a key ends. */
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	/* By what is sent. */
	top.state[TOP_PROCESSES].column = 6;
	top.state[TOP_QPS].column = 5;
	top.model = top_model_new();
	if (!top.model) {
		fputs("usiw: top: out of memory\n", stderr);
		return 1;
	}
	ret = pid ? pid_open(&top, pid) : 0;
	if (ret == 0)
		ret = top_show(&top);
	top_model_free(top.model);
	return ret;
}
