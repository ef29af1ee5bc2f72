/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The SDP sockets of a process, from its own page (sdp/stat). */
#ifndef STAT_SDP_H
#define STAT_SDP_H

#include "filter.h"
#include "json.h"
#include "process.h"

/* Nothing if the process has none. Return: 0; -ENOMEM. */
int sdp_table(const struct process *process, const struct filter *filter);

/* An array; empty if the process has none. NULL: out of memory. */
json_t *sdp_tree(const struct process *process, const struct filter *filter);

#endif
