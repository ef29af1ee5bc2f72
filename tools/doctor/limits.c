/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Check of the limits of the process. */
#include "doctor/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

#include "doctor/file.h"

/* What a context and its first connections need. */
#define DESCRIPTORS_MIN 16
/* Below this, a program with some dozens of connections meets the limit. */
#define DESCRIPTORS_FEW 256
#define DESCRIPTORS_ENOUGH 1024
#define ADDRESS_SPACE_FEW ((rlim_t)128 << 20)
#define FILE_MIN ((rlim_t)1 << 20)

static void nothing(const char *name, void *arg)
{
	(void)name;
	(void)arg;
}

/* Return: whether a context was opened and has moved octets. */
static bool context_works(const struct inside *inside)
{
	return inside_get(inside, "open") &&
	       !inside_get(inside, "open-error") &&
	       !inside_get(inside, "traffic-error");
}

static void descriptors_check(struct subject *subject, struct report *report)
{
	int cnt = file_entries("/proc/self/fd", nothing, NULL);
	rlim_t open_cnt = cnt > 0 ? (rlim_t)cnt : 0;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	(void)inside_claim(&subject->inside, "no file descriptor is left");
	if (limit.rlim_cur < open_cnt + DESCRIPTORS_MIN)
		report_wrong(report,
			     "%ju file descriptors, of which %ju are in use: a "
			     "context takes about ten",
			     (uintmax_t)limit.rlim_cur, (uintmax_t)open_cnt);
	else if (limit.rlim_cur < DESCRIPTORS_FEW)
		report_note(report,
			    "%ju file descriptors: each connection takes one "
			    "or two, and through shared memory only while a "
			    "quarter is left",
			    (uintmax_t)limit.rlim_cur);
	else
		return;
	if (limit.rlim_max < DESCRIPTORS_ENOUGH)
		report_repair(report, "raise the hard limit: LimitNOFILE= of "
				      "systemd, limits.conf(5), or docker run "
				      "--ulimit nofile=1024");
	else
		report_repair(report, "ulimit -n 1024");
}

static void space_check(const struct subject *subject, struct report *report)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) < 0 ||
	    limit.rlim_cur >= ADDRESS_SPACE_FEW)
		return;
	if (context_works(&subject->inside))
		report_note(report,
			    "the address space may have %ju KiB; queues and "
			    "registered memory are in it",
			    (uintmax_t)limit.rlim_cur / 1024);
	else
		report_wrong(report, "the address space may have %ju KiB only",
			     (uintmax_t)limit.rlim_cur / 1024);
	report_repair(report, "ulimit -v unlimited");
}

void check_limits(struct subject *subject, struct report *report)
{
	size_t cnt = report->cnt;
	struct rlimit limit;

	descriptors_check(subject, report);
	space_check(subject, report);
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < FILE_MIN) {
		report_note(report,
			    "files may have %ju octets: connections of one "
			    "host stay on TCP",
			    (uintmax_t)limit.rlim_cur);
		report_repair(report, "ulimit -f unlimited");
	}
	if (report->cnt == cnt && getrlimit(RLIMIT_NOFILE, &limit) == 0)
		report_ok(report,
			  "%ju file descriptors; locked memory does not matter",
			  (uintmax_t)limit.rlim_cur);
}
