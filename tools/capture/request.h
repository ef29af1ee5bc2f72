/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The command line of usiw capture. */
#ifndef CAPTURE_REQUEST_H
#define CAPTURE_REQUEST_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "abi/usiw-observer.h"
#include "capture.h"
#include "options.h"
#include "writer.h"

#define CAPTURE_FILTER_TEXT 128
#define CAPTURE_PIDS_MAX USIW_OBSERVER_SLOTS

struct capture_request {
	struct writer_options output;
	/* The capture ends then; 0: not because of it. */
	uint64_t end_octets, end_ns, end_packets;
	uint32_t snap_len, ring_mib;
	struct capture_filter filter;
	char filter_text[CAPTURE_FILTER_TEXT];
	pid_t pids[CAPTURE_PIDS_MAX];
	uint32_t pid_cnt;
	struct options run; /* of the command */
};

#define CAPTURE_REQUEST_INIT { .snap_len = CAPTURE_SNAP_MAX, .ring_mib = 16 }

/* @request: CAPTURE_REQUEST_INIT.  Return: 0: *ret_first is the index of the
 * command in @argv, or of its end; USAGE_EXIT: the reason was printed. */
int capture_request_take(struct capture_request *options, int argc, char **argv,
			 int *ret_first);

void capture_request_usage(FILE *out);

#endif
