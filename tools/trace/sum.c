/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See sum.h. */
#include "sum.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/plain-text.h"

#define CALL_MAX 128

/*
 * How often a time was seen, within 3 %: 16 steps for each power of 2.  The
 * least one has all times below 16 ns as they are.
 */
#define STEPS 16u
#define HIST_CNT (60u * STEPS + STEPS)

struct call {
	char name[TRACE_NAME_MAX];
	uint64_t cnt, error_cnt, ns;
};

struct completions {
	uint64_t cnt, timed_cnt;
	uint64_t hist[HIST_CNT];
};

struct trace_sum {
	struct call calls[CALL_MAX];
	uint32_t call_cnt;
	struct completions *completions[256][256]; /* opcode, status */
};

struct trace_sum *trace_sum_new(void)
{
	return calloc(1, sizeof(struct trace_sum));
}

void trace_sum_free(struct trace_sum *sum)
{
	for (int i = 0; sum && i < 256 * 256; i++)
		free(sum->completions[i / 256][i % 256]);
	free(sum);
}

/* ---- times --------------------------------------------------------------- */

static uint32_t hist_place(uint64_t ns)
{
	uint32_t power;

	if (ns < STEPS)
		return (uint32_t)ns;
	power = 63 - (uint32_t)__builtin_clzll(ns);
	return (power - 3) * STEPS + (uint32_t)(ns >> (power - 4) & 15);
}

/* The middle of what is counted there. */
static double hist_ns(uint32_t place)
{
	uint32_t power = place / STEPS + 3;
	uint64_t width;

	if (place < STEPS)
		return place;
	width = UINT64_C(1) << (power - 4);
	return (double)((STEPS + place % STEPS) * width) + (double)width / 2;
}

static double percentile_us(const struct completions *row, unsigned int percent)
{
	uint64_t rest = (row->timed_cnt * percent + 99) / 100;

	for (uint32_t i = 0; i < HIST_CNT; i++) {
		if (row->hist[i] >= rest)
			return hist_ns(i) / 1000;
		rest -= row->hist[i];
	}
	return 0;
}

/* ---- adding ------------------------------------------------------------- */

void trace_sum_add_call(struct trace_sum *sum, const struct trace_call *call)
{
	const struct usiw_call_record *record = call->record;
	struct call *row = sum->calls;
	struct call *end = row + sum->call_cnt;
	size_t len = record->name_len;

	if (len >= sizeof(row->name))
		len = sizeof(row->name) - 1;
	while (row != end && (strlen(row->name) != len ||
			      memcmp(row->name, call->name, len) != 0))
		row++;
	if (row == end) {
		if (sum->call_cnt == CALL_MAX)
			return;
		sum->call_cnt++;
		memset(row, 0, sizeof(*row));
		for (size_t i = 0; i < len; i++)
			row->name[i] = util_plain_char(call->name[i]);
	}
	row->cnt += record->cnt;
	row->error_cnt += record->result < 0 ? record->cnt : 0;
	row->ns += record->took_ns;
}

void trace_sum_add_completion(struct trace_sum *sum,
			      const struct usiw_completion_record *completion,
			      uint64_t took_ns)
{
	struct completions **at =
		&sum->completions[completion->opcode][completion->status];

	if (!*at)
		*at = calloc(1, sizeof(**at));
	if (!*at)
		return;
	(*at)->cnt++;
	if (!took_ns)
		return;
	(*at)->timed_cnt++;
	(*at)->hist[hist_place(took_ns)]++;
}

/* ---- the table ---------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct call *left = a, *right = b;

	if (left->ns != right->ns)
		return left->ns < right->ns ? 1 : -1;
	return strcmp(left->name, right->name);
}

static void calls_show(struct trace_sum *sum, FILE *out)
{
	uint64_t all = 0;

	qsort(sum->calls, sum->call_cnt, sizeof(sum->calls[0]), by_time);
	for (uint32_t i = 0; i < sum->call_cnt; i++)
		all += sum->calls[i].ns;
	fputs("% time     seconds     us/call     calls    errors call\n"
	      "------ ----------- ----------- --------- --------- ----------\n",
	      out);
	for (uint32_t i = 0; i < sum->call_cnt; i++) {
		const struct call *row = &sum->calls[i];
		double ns = (double)row->ns;

		fprintf(out, "%6.2f %11.6f %11.3f %9" PRIu64 " ",
			all ? 100 * ns / (double)all : 0, ns / 1e9,
			row->cnt ? ns / 1e3 / (double)row->cnt : 0, row->cnt);
		if (row->error_cnt)
			fprintf(out, "%9" PRIu64 " %s\n", row->error_cnt,
				row->name);
		else
			fprintf(out, "%9s %s\n", "", row->name);
	}
}

static void completions_show(const struct trace_sum *sum, FILE *out)
{
	char status[TRACE_NAME_MAX], opcode[TRACE_NAME_MAX];
	bool has_head = false;

	for (int i = 0; i < 256 * 256; i++) {
		const struct completions *row =
			sum->completions[i / 256][i % 256];

		if (!row)
			continue;
		if (!has_head)
			fputs("\ncompletions      p50 us      p99 us opcode, "
			      "status\n"
			      "----------- ----------- ----------- "
			      "--------------\n",
			      out);
		has_head = true;
		fprintf(out, "%11" PRIu64 " ", row->cnt);
		if (row->timed_cnt)
			fprintf(out, "%11.3f %11.3f", percentile_us(row, 50),
				percentile_us(row, 99));
		else
			fprintf(out, "%11s %11s", "-", "-");
		fprintf(out, " %s %s\n",
			trace_opcode_name((uint8_t)(i / 256), opcode),
			trace_status_name((uint8_t)(i % 256), status));
	}
}

void trace_sum_show(struct trace_sum *sum, FILE *out)
{
	calls_show(sum, out);
	completions_show(sum, out);
}
