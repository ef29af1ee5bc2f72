/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Measurements of public verbs and rdma_cm that perftest does not have.
 *
 *  usiw run -- bench-verbs [OPTION]... stream|pingpong PORT [HOST]
 *
 *  -o OP   write (default), send, read; of pingpong also atomic
 *  -s N    octets of a message (8)
 *  -w MS   the window of the measurement (300)
 *  -b N    buffers on each side, used in turn (1)
 *  -q N    queue pairs of each thread (1)
 *  -t N    threads, each with a CQ and queue pairs of its own (1)
 *  -l N    work requests in one ibv_post_send() (1)
 *  -e      sleep for completions, on both sides; else poll
 *  -p      stream of writes or reads: the server does not poll
 *  -d      stream of sends or reads: the sender writes to the data, and the
 *          receiver reads it
 *  -B      pingpong: during a bulk stream of 64 KiB messages on another queue
 *          pair of the same context
 *  -i N    pingpong: with N idle connections
 *
 * Without HOST it serves one client. The client of stream prints the rate in
 * MiB/s and in millions of messages per second, and the GB that it moved,
 * including those of its warm-up. Both sides of stream print the CPU seconds
 * that they used in that time. The client of pingpong prints p50, p99 and p99.9
 * in microseconds: of half a round trip for sends and for writes to a receiver
 * that spins on memory, of a whole one for reads and atomics.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "verbs_client.h"
#include "verbs_server.h"

#define DEPTH_MAX 128u
#define OUTSTANDING_MAX (16u << 20) /* octets */

static int usage(void)
{
	fprintf(stderr,
		"usage: bench-verbs [-o write|send|read|atomic] [-s OCTETS] [-w MS] "
		"[-b BUFFERS] [-q QPS]\n\t[-t THREADS] [-l LIST] [-e] [-p] [-d] [-B] "
		"[-i IDLE] stream|pingpong PORT [HOST]\n");
	return 2;
}

static bool op_parse(const char *text, uint8_t *ret_op)
{
	static const char *const names[] = { "write", "send", "read",
					     "atomic" };

	for (uint8_t i = 0; i < 4; i++) {
		if (strcmp(text, names[i]) == 0) {
			*ret_op = i;
			return true;
		}
	}
	return false;
}

static bool options_parse(struct bench_options *opt, int argc, char **argv)
{
	struct bench_hello *hello = &opt->hello;
	int c;

	while ((c = getopt(argc, argv, "o:s:w:b:q:t:l:epdBi:")) != -1) {
		unsigned long number = optarg ? strtoul(optarg, NULL, 10) : 0;

		switch (c) {
		case 'o':
			if (!op_parse(optarg, &hello->op))
				return false;
			continue;
		case 's':
			hello->size = (uint32_t)number;
			break;
		case 'w':
			opt->window_ns = number * NS_PER_MS;
			break;
		case 'b':
			hello->buf_cnt = (uint32_t)number;
			break;
		case 'q':
			hello->link_cnt = (uint32_t)number;
			break;
		case 't':
			opt->thread_cnt = (int)number;
			break;
		case 'l':
			opt->list_len = (int)number;
			break;
		case 'i':
			opt->idle_cnt = (int)number;
			break;
		case 'e':
			hello->is_events = 1;
			continue;
		case 'p':
			hello->is_passive = 1;
			continue;
		case 'd':
			hello->is_touched = 1;
			continue;
		case 'B':
			opt->is_beside_bulk = true;
			continue;
		default:
			return false;
		}
		if (number == 0)
			return false;
	}
	if (argc - optind < 2)
		return false;
	opt->is_ping = strcmp(argv[optind], "pingpong") == 0;
	opt->port = argv[optind + 1];
	opt->host = argv[optind + 2];
	if (opt->is_ping)
		return hello->op != OP_WRITE || !hello->is_events;
	return strcmp(argv[optind], "stream") == 0 && hello->op != OP_ATOMIC;
}

static bool depth_choose(struct bench_options *opt)
{
	struct bench_hello *hello = &opt->hello;

	hello->depth = OUTSTANDING_MAX / hello->size;
	if (hello->depth > DEPTH_MAX)
		hello->depth = DEPTH_MAX;
	if (hello->depth < 2)
		hello->depth = 2;
	/* One list is in progress while the next is made. */
	return (uint32_t)opt->list_len * 2 <= hello->depth &&
	       opt->thread_cnt <= 32;
}

int main(int argc, char **argv)
{
	struct bench_options opt = {
		.hello = { .size = 8, .buf_cnt = 1, .link_cnt = 1 },
		.window_ns = 300 * NS_PER_MS,
		.list_len = 1,
		.thread_cnt = 1,
	};
	struct rlimit files;

	if (!options_parse(&opt, argc, argv) || !depth_choose(&opt))
		return usage();
	NEEDS(!getrlimit(RLIMIT_NOFILE, &files));
	files.rlim_cur = files.rlim_max;
	NEEDS(!setrlimit(RLIMIT_NOFILE, &files));
	if (opt.host)
		bench_connect(&opt);
	else
		bench_serve(&opt);
	return 0;
}
