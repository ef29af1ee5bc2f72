/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A line for each record of usiw trace. */
#ifndef TRACE_SHOW_H
#define TRACE_SHOW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "abi/usiw-observer.h"

/* Whose record it is.  The thread is named if it is not the first. */
struct trace_who {
	uint32_t pid, tid;
};

/* A record of a call or event whose lengths are right, in parts.  The texts are
 * the process's: they are not terminated. */
struct trace_call {
	const struct usiw_call_record *record;
	const char *name, *args, *made;
};

/* @len: of the record.  Return: false: it is not right. */
bool trace_call_read(struct trace_call *call, const void *record, uint32_t len);

void trace_call_show(FILE *out, struct trace_who who,
		     const struct trace_call *call);
void trace_event_show(FILE *out, struct trace_who who,
		      const struct trace_call *event);

/* @took_ns: since it was posted; 0: not known. */
void trace_completion_show(FILE *out, struct trace_who who,
			   const struct usiw_completion_record *completion,
			   uint64_t took_ns);

/* As IBV_WC_SUCCESS and IBV_WC_SEND; a number if there is none. */
#define TRACE_NAME_MAX 48
const char *trace_status_name(uint8_t status, char buf[TRACE_NAME_MAX]);
const char *trace_opcode_name(uint8_t opcode, char buf[TRACE_NAME_MAX]);

#endif
