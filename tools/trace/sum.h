/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The table of usiw trace -c. */
#ifndef TRACE_SUM_H
#define TRACE_SUM_H

#include "show.h"

struct trace_sum;

struct trace_sum *trace_sum_new(void);
void trace_sum_free(struct trace_sum *sum);

void trace_sum_add_call(struct trace_sum *sum, const struct trace_call *call);
/* @took_ns: as for trace_completion_show(). */
void trace_sum_add_completion(struct trace_sum *sum,
			      const struct usiw_completion_record *completion,
			      uint64_t took_ns);

/* Calls by their time, completions by opcode and status. */
void trace_sum_show(struct trace_sum *sum, FILE *out);

#endif
