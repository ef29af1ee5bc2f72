/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See filter.h. */
#include "filter.h"

#include <stdio.h>
#include <string.h>

#include "util/fault-names.h"
#include "util/near.h"

/* Calls that cannot be told to fail, beside util_fault_calls. */
static const char *const others[] = {
	"open_device",
	"close_device",
	"next_poll",
	"end_poll",
	"wr_abort",
	"rdma_get_cm_event",
	"rdma_get_option",
	"rdma_init_qp_attr",
	"rdma_notify",
	"rdma_cm_query",
	"rdma_write_cm_event",
	"rdma_resolve_addrinfo",
};

static const char *const classes[] = { "verbs", "cm", "completions", "events" };

#define CNT(rows) (sizeof(rows) / sizeof((rows)[0]))

static size_t call_cnt(void)
{
	return util_fault_calls.cnt + CNT(others);
}

static const char *call_name(size_t num)
{
	return num < util_fault_calls.cnt ? util_fault_calls.name(num)
					  : others[num - util_fault_calls.cnt];
}

static bool is_cm(const char *name)
{
	return strncmp(name, "rdma_", 5) == 0;
}

/* Return: its number; -1. */
static int call_find(const char *name, size_t len)
{
	if (len > 4 && strncmp(name, "ibv_", 4) == 0) {
		name += 4;
		len -= 4;
	}
	for (size_t i = 0; i < call_cnt() && i < TRACE_CALL_MAX; i++)
		if (strlen(call_name(i)) == len &&
		    memcmp(call_name(i), name, len) == 0)
			return (int)i;
	return -1;
}

static const char *word_name(size_t num)
{
	return num < CNT(classes) ? classes[num]
				  : call_name(num - CNT(classes));
}

static void calls_set(struct trace_filter *filter, bool of_cm, bool is_shown)
{
	for (size_t i = 0; i < call_cnt() && i < TRACE_CALL_MAX; i++)
		if (is_cm(call_name(i)) == of_cm)
			filter->calls[i] = is_shown;
	*(of_cm ? &filter->cm : &filter->verbs) = is_shown;
}

static void all_set(struct trace_filter *filter, bool is_shown)
{
	calls_set(filter, false, is_shown);
	calls_set(filter, true, is_shown);
	filter->completions = is_shown;
	filter->events = is_shown;
}

void trace_filter_init(struct trace_filter *filter)
{
	all_set(filter, true);
	filter->is_given = false;
}

static int refuse(const char *word, size_t len)
{
	const char *near =
		util_near(word, len, word_name, CNT(classes) + call_cnt());
	size_t column = 0;

	fprintf(stderr, "usiw: trace: -e %.*s: no such call or class", (int)len,
		word);
	if (near)
		fprintf(stderr, "; did you mean %s?", near);
	fputs("\nClasses:", stderr);
	for (size_t i = 0; i < CNT(classes); i++)
		fprintf(stderr, " %s", classes[i]);
	fputs("\nCalls (verbs with or without ibv_):", stderr);
	for (size_t i = 0; i < call_cnt(); i++) {
		fprintf(stderr, "%s%s", column % 5 ? " " : "\n  ",
			call_name(i));
		column++;
	}
	fputs("\n", stderr);
	return -1;
}

/* Return: whether there is such a class. */
static bool class_set(struct trace_filter *filter, const char *word, size_t len,
		      bool is_shown)
{
	size_t num = 0;

	while (num < CNT(classes) && (strlen(classes[num]) != len ||
				      memcmp(classes[num], word, len) != 0))
		num++;
	if (num < 2)
		calls_set(filter, num == 1, is_shown);
	else if (num == 2)
		filter->completions = is_shown;
	else if (num == 3)
		filter->events = is_shown;
	return num < CNT(classes);
}

int trace_filter_add(struct trace_filter *filter, const char *text)
{
	for (;; text++) {
		bool is_shown = *text != '!';
		size_t len;
		int num;

		text += !is_shown;
		len = strcspn(text, ",");
		if (is_shown && !filter->is_given)
			all_set(filter, false);
		filter->is_given = true;
		if (!class_set(filter, text, len, is_shown)) {
			num = call_find(text, len);
			if (num < 0)
				return refuse(text, len);
			filter->calls[num] = is_shown;
		}
		text += len;
		if (!*text)
			return 0;
	}
}

bool trace_filter_has_call(const struct trace_filter *filter, const char *name,
			   size_t len)
{
	int num = call_find(name, len);

	if (num >= 0)
		return filter->calls[num];
	return len > 5 && is_cm(name) ? filter->cm : filter->verbs;
}
