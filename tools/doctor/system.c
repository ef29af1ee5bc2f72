/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Checks of the system calls that usiw needs: a sandbox may refuse them, or end
 * the process. */
#define _GNU_SOURCE
#include "doctor/check.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "doctor/child.h"
#include "doctor/file.h"

#define LIMIT_MS 10000

/* ---- calls: each runs in a child, and returns -1 and errno, or else ----- */

static int call_netlink(void)
{
	struct sockaddr_nl own = { .nl_family = AF_NETLINK };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	return fd < 0 ? -1 : bind(fd, (struct sockaddr *)&own, sizeof(own));
}

static int call_inet(void)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static int call_inet6(void)
{
	return socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static int call_unix(void)
{
	return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static int call_epoll(void)
{
	return epoll_create1(EPOLL_CLOEXEC);
}

static int call_eventfd(void)
{
	return eventfd(0, EFD_CLOEXEC);
}

static int call_memfd(void)
{
	return memfd_create("usiw-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

static void *thread_nothing(void *arg)
{
	return arg;
}

static int call_thread(void)
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, thread_nothing, NULL);
	return errno ? -1 : pthread_join(thread, NULL);
}

static const struct call {
	const char *name;
	int (*make)(void);
	const char *without; /* what does not work; NULL: nothing works */
} calls[] = {
	{ "socket(AF_INET)", call_inet, NULL },
	{ "socket(AF_INET6)", call_inet6, "devices have no IPv6 addresses" },
	{ "socket(AF_UNIX)", call_unix,
	  "connections of one host stay on TCP, and libibverbs does not find "
	  "devices by netlink" },
	{ "epoll_create1()", call_epoll, NULL },
	{ "eventfd()", call_eventfd, NULL },
	{ "memfd_create()", call_memfd, NULL },
	{ "a new thread", call_thread, NULL },
};

#define CALL_CNT (sizeof(calls) / sizeof(calls[0]))

static int call_make(const void *arg)
{
	int (*const *make)(void) = arg;
	int err = (*make)() < 0 ? errno : 0;

	dprintf(STDOUT_FILENO, "%d", err);
	return 0;
}

/* Return: 0: it works; an errno; -1: it ends the process. */
static int call_try(int (*make)(void))
{
	struct child child;
	int err;

	child_run(&child, call_make, &make, LIMIT_MS);
	if (child.err)
		return child.err;
	err = child.signal || child.is_hung ? -1 : atoi(child.octets);
	free(child.octets);
	return err;
}

static void fault_text(int err, char ret_text[128])
{
	if (err < 0)
		snprintf(ret_text, 128, "ends the process");
	else
		snprintf(ret_text, 128, "fails: %s", strerror(err));
}

/* ---- checks ------------------------------------------------------------- */

#define ALLOW                                                                    \
	"allow it: docker run --security-opt seccomp=unconfined, or in the "     \
	"unit of systemd SystemCallFilter= and RestrictAddressFamilies=AF_INET " \
	"AF_INET6 AF_UNIX AF_NETLINK"

/* Whether filters of this process may be the reason.  A filter may end the
 * process that asks by prctl(). */
static bool has_filter(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	unsigned mode = SECCOMP_MODE_DISABLED;
	char line[128];

	while (file && fgets(line, sizeof(line), file) &&
	       sscanf(line, "Seccomp: %u", &mode) != 1)
		;
	if (file)
		fclose(file);
	return mode != SECCOMP_MODE_DISABLED;
}

static void call_check(const struct call *call, struct report *report)
{
	int err = call_try(call->make);
	char text[128];

	if (err == 0)
		return;
	fault_text(err, text);
	if (!call->without)
		report_wrong(report, "%s %s", call->name, text);
	else
		report_note(report, "%s %s: %s", call->name, text,
			    call->without);
	if (err == EMFILE || err == ENFILE)
		report_repair(report, "ulimit -n 1024");
	else if (err == EAGAIN || err == ENOMEM)
		report_repair(report, "raise the limits of processes and "
				      "memory: ulimit -u, ulimit -v, the "
				      "cgroup's pids.max");
	else if (has_filter())
		report_repair(report, ALLOW);
	else if (err == EAFNOSUPPORT)
		report_repair(report,
			      "sysctl net.ipv6.conf.all.disable_ipv6=0, "
			      "or load the kernel's module");
}

void check_seccomp(struct subject *subject, struct report *report)
{
	size_t cnt = report->cnt;

	(void)subject;
	for (size_t i = 0; i < CALL_CNT; i++)
		call_check(&calls[i], report);
	if (report->cnt == cnt)
		report_ok(report, "%s; each call works",
			  has_filter() ? "a filter" : "no filter");
}

void check_netlink(struct subject *subject, struct report *report)
{
	int err = call_try(call_netlink);
	char text[128];

	if (err == 0) {
		report_ok(report, "interfaces can be listed");
		return;
	}
	(void)inside_claim(&subject->inside, "cannot be listed by rtnetlink");
	fault_text(err, text);
	report_wrong(report,
		     "socket(AF_NETLINK) %s: usiw cannot list interfaces",
		     text);
	report_repair(report, "%s", err == EMFILE ? "ulimit -n 1024" : ALLOW);
}
