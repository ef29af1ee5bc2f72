/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* cpus.c: the kernel's texts, and how old an answer may be. */
#define _GNU_SOURCE
#include "test.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/clock.h"
#include "os/cpus.h"
#include "until.h"

CASE(reads_how_many_threads_run)
{
	static const struct {
		const char *text;
		long running;
	} table[] = {
		{ "0.20 0.18 0.12 1/80 11206\n", 1 },
		{ "64.01 63.00 60.10 128/4096 1\n", 128 },
		{ "0.00 0.00 0.00 0/1 2", 0 },
		{ "", -1 },
		{ "\n", -1 },
		{ "0.20 0.18 0.12", -1 },
		{ "0.20 0.18 0.12 ", -1 },
		{ "0.20 0.18 0.12 1", -1 },
		{ "0.20 0.18 0.12 -1/80 3", -1 },
		{ "another file of the program", -1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		assert_int_equal(rnic_cpus_parse_running(table[i].text),
				 table[i].running);
}

CASE(reads_whether_there_is_a_quota)
{
	static const struct {
		const char *text;
		bool is_limited;
	} table[] = {
		{ "max 100000\n", false },  { "-1\n", false },	  { "", false },
		{ "50000 100000\n", true }, { "200000\n", true },
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		assert_int_equal(rnic_cpus_parse_is_limited(table[i].text),
				 table[i].is_limited);
}

static void write_running(int fd, const char *text)
{
	must(!ftruncate(fd, 0));
	must(pwrite(fd, text, strlen(text), 0) == (ssize_t)strlen(text));
}

/* Two CPUs, and a file in place of /proc/loadavg. */
CASE(answers_age)
{
	struct rnic_cpus cpus = { .fd = memfd_create("loadavg", 0), .max = 2 };
	uint64_t now_ns = 1;

	must(cpus.fd >= 0);
	write_running(cpus.fd, "0.0 0.0 0.0 2/9 9\n");
	assert_true(rnic_cpus_are_known(&cpus));
	assert_true(rnic_cpus_have_idle(&cpus, now_ns));
	write_running(cpus.fd, "0.0 0.0 0.0 3/9 9\n");
	assert_true(rnic_cpus_have_idle(&cpus, now_ns + NS_PER_MS - 1));
	now_ns += NS_PER_MS;
	assert_false(rnic_cpus_have_idle(&cpus, now_ns));
	/* A busy machine is asked less often. */
	write_running(cpus.fd, "0.0 0.0 0.0 1/9 9\n");
	assert_false(rnic_cpus_have_idle(&cpus, now_ns + 10 * NS_PER_MS - 1));
	now_ns += 10 * NS_PER_MS;
	assert_true(rnic_cpus_have_idle(&cpus, now_ns));
	write_running(cpus.fd, "nonsense");
	assert_false(rnic_cpus_have_idle(&cpus, now_ns + NS_PER_MS));
	close(cpus.fd);
	/* The application has closed it. */
	assert_false(rnic_cpus_have_idle(&cpus, now_ns + 20 * NS_PER_MS));
}

CASE(begins_and_ends)
{
	struct rnic_cpus cpus;

	rnic_cpus_init(&cpus, 2);
	(void)rnic_cpus_have_idle(&cpus, util_now_ns());
	rnic_cpus_fini(&cpus);
	assert_false(rnic_cpus_are_known(&cpus));
	assert_false(rnic_cpus_have_idle(&cpus, UINT64_MAX));
	rnic_cpus_fini(&cpus);
}
