/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Common parts of the measuring programs: the clock, the CPU time of the
 * process, percentiles, and the lines "name=value" that bench/bench.py reads.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define NS_PER_MS 1000000u

#define NEEDS(cond) bench_needs(!!(cond), __FILE__, __LINE__, #cond)

/* Ends the program with errno's text unless @is_good. */
void bench_needs(int is_good, const char *file, int line, const char *what);

uint64_t bench_now_ns(void);

/* User and system time of all threads of this process. */
uint64_t bench_cpu_ns(void);

/*
 * Starts a thread that is bound to one CPU: that with the number @idx of those
 * that the process may use, counted from 0, round.
 */
void bench_thread_start(pthread_t *ret_thread, int idx, void *(*run)(void *),
			void *arg);

/* Times of single events.  Those beyond @max are not kept. */
struct bench_times {
	uint64_t *ns;
	size_t cnt, max;
};

void bench_times_init(struct bench_times *times, size_t max);
void bench_times_fini(struct bench_times *times);

static inline void bench_times_add(struct bench_times *times, uint64_t ns)
{
	if (times->cnt < times->max)
		times->ns[times->cnt++] = ns;
}

/*
 * Prints p50, p99 and p99.9 in microseconds, of the times divided by @divisor.
 * 2 converts round trips to half round trips.
 */
void bench_times_print(struct bench_times *times, double divisor);

/*
 * As a program does that makes data, and one that uses it: one word of each
 * cache line.  Data that nobody touches stays in the cache of one CPU.
 */
void bench_lines_write(void *mem, size_t len, uint64_t value);
void bench_lines_read(const void *mem, size_t len);

void bench_print(const char *name, double value);

/*
 * A TCP connection over IPv4.  @host: the server's address; NULL: accept one
 * client at @port.  Return: the socket.  A failure ends the program.
 */
int bench_tcp_open(const char *host, uint16_t port);

#endif
