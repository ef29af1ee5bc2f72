/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Whether a CPU is idle, for a thread that could use it. */
#include "cpus.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/clock.h"
#include "fd.h"

/* A look takes some microseconds. */
#define CPUS_AGE_IDLE_NS (1 * NS_PER_MS)
#define CPUS_AGE_BUSY_NS (10 * NS_PER_MS)

/* As util/cancel.h says.  Return: the fd; -errno. */
static int file_open(const char *path)
{
	int fd = rnic_fd_own(
		(int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));

	return rnic_fd_spare(fd);
}

/* Of the process's own cgroup in a container; of the root elsewhere, which has
 * none. */
static const char *const quota_files[] = {
	"/sys/fs/cgroup/cpu.max",
	"/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
};

long rnic_cpus_parse_running(const char *text)
{
	const char *p = text;
	char *end;
	long running;

	/* 0.20 0.18 0.12 1/80 11206 */
	for (int i = 0; i < 3; i++) {
		p = strchr(p, ' ');
		if (!p)
			return -1;
		p++;
	}
	running = strtol(p, &end, 10);
	return end == p || *end != '/' || running < 0 ? -1 : running;
}

bool rnic_cpus_parse_is_limited(const char *text)
{
	/* "max 100000", "50000 100000"; "-1", "50000" */
	return *text >= '0' && *text <= '9';
}

/* Return: whether there is a text; it ends with a zero. */
static bool file_read(int fd, char *text, size_t size)
{
	long len = syscall(SYS_pread64, fd, text, size - 1, 0l, 0l);

	text[len > 0 ? len : 0] = '\0';
	return len > 0;
}

static bool has_quota(void)
{
	char text[64];
	bool is_limited = false;

	for (size_t i = 0; i < sizeof(quota_files) / sizeof(*quota_files);
	     i++) {
		int fd = file_open(quota_files[i]);

		if (fd < 0)
			continue;
		if (file_read(fd, text, sizeof(text)))
			is_limited |= rnic_cpus_parse_is_limited(text);
		rnic_fd_close(fd);
	}
	return is_limited;
}

void rnic_cpus_init(struct rnic_cpus *cpus, uint32_t max)
{
	*cpus = (struct rnic_cpus){ .fd = -1, .max = max };
	if (max >= 2 && !has_quota())
		cpus->fd = file_open("/proc/loadavg");
}

void rnic_cpus_fini(struct rnic_cpus *cpus)
{
	rnic_fd_close(cpus->fd);
	cpus->fd = -1;
}

bool rnic_cpus_have_idle(struct rnic_cpus *cpus, uint64_t now_ns)
{
	char text[64];
	long running = -1;

	if (cpus->fd < 0)
		return false;
	if (now_ns < cpus->next_ns)
		return cpus->has_idle;
	if (file_read(cpus->fd, text, sizeof(text)))
		running = rnic_cpus_parse_running(text);
	cpus->has_idle = running >= 0 && running <= (long)cpus->max;
	cpus->next_ns =
		now_ns + (cpus->has_idle ? CPUS_AGE_IDLE_NS : CPUS_AGE_BUSY_NS);
	return cpus->has_idle;
}
