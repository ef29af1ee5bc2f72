/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Commands of the rdma_cm file as calls with arguments, for usiw trace. */
#ifndef KABI_UCM_TRACE_H
#define KABI_UCM_TRACE_H

#include <stdbool.h>

#include "commands/ucm-file.h"
#include "util/text.h"

/* Does a command observe the process? */
bool kabi_ucm_is_traced(void);

/* Writes the record of the command @nr, which began then and has ended with
 * @ret; and of the event that it has fetched. */
void kabi_ucm_trace(uint32_t nr, const struct kabi_ucm_call *call,
		    uint64_t began_ns, int ret);

/* Parts of it. */
void kabi_ucm_print_args(struct util_text *text, uint32_t nr, const void *cmd);
void kabi_ucm_print_made(struct util_text *text, uint32_t nr, const void *cmd,
			 int ret);
/* Return: the name of an event, without its fields. */
struct rdma_ucm_event_resp;
const char *kabi_ucm_print_event(struct util_text *text,
				 const struct rdma_ucm_event_resp *event);

#endif
