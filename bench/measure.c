/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See measure.h. */
#define _GNU_SOURCE
#include "measure.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

void bench_needs(int is_good, const char *file, int line, const char *what)
{
	if (is_good)
		return;
	fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, strerror(errno));
	exit(2);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t bench_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t bench_cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void bench_thread_start(pthread_t *ret_thread, int idx, void *(*run)(void *),
			void *arg)
{
	cpu_set_t allowed, one;
	pthread_attr_t attr;

	NEEDS(!sched_getaffinity(0, sizeof(allowed), &allowed));
	idx %= CPU_COUNT(&allowed);
	CPU_ZERO(&one);
	for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
		if (CPU_ISSET(cpu, &allowed) && idx-- == 0)
			CPU_SET(cpu, &one);
	NEEDS(!pthread_attr_init(&attr));
	NEEDS(!pthread_attr_setaffinity_np(&attr, sizeof(one), &one));
	NEEDS(!pthread_create(ret_thread, &attr, run, arg));
	NEEDS(!pthread_attr_destroy(&attr));
}

void bench_times_init(struct bench_times *times, size_t max)
{
	times->cnt = 0;
	times->max = max;
	NEEDS(times->ns = malloc(max * sizeof(*times->ns)));
	/* A page fault must not happen during the measurement. */
	memset(times->ns, 1, max * sizeof(*times->ns));
}

void bench_times_fini(struct bench_times *times)
{
	free(times->ns);
}

static int compare_u64(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

void bench_times_print(struct bench_times *times, double divisor)
{
	static const struct {
		const char *name;
		double share;
	} ranks[] = { { "p50", 0.5 }, { "p99", 0.99 }, { "p99.9", 0.999 } };

	NEEDS(times->cnt > 0);
	qsort(times->ns, times->cnt, sizeof(*times->ns), compare_u64);
	for (size_t i = 0; i < sizeof(ranks) / sizeof(*ranks); i++) {
		size_t at = (size_t)((double)times->cnt * ranks[i].share);

		bench_print(ranks[i].name,
			    (double)times->ns[at] / divisor / 1000.0);
	}
}

#define LINE 64u

void bench_lines_write(void *mem, size_t len, uint64_t value)
{
	for (size_t at = 0; at + sizeof(value) <= len; at += LINE)
		memcpy((char *)mem + at, &value, sizeof(value));
}

/* So that no compiler leaves the reading out. */
static volatile uint64_t lines_sum;

void bench_lines_read(const void *mem, size_t len)
{
	uint64_t sum = 0, word;

	for (size_t at = 0; at + sizeof(word) <= len; at += LINE) {
		memcpy(&word, (const char *)mem + at, sizeof(word));
		sum += word;
	}
	lines_sum = sum;
}

void bench_print(const char *name, double value)
{
	printf("%s=%.6g\n", name, value);
}

int bench_tcp_open(const char *host, uint16_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1, conn = fd;

	NEEDS(fd >= 0);
	if (host) {
		NEEDS(inet_pton(AF_INET, host, &addr.sin_addr) == 1);
		NEEDS(!connect(fd, (struct sockaddr *)&addr, sizeof(addr)));
	} else {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		NEEDS(!bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
		NEEDS(!listen(fd, 1));
		NEEDS((conn = accept(fd, NULL, NULL)) >= 0);
		close(fd);
	}
	return conn;
}
