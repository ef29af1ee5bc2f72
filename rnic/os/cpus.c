/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See cpus.h. */
#include "cpus.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fd.h"

/* Of the process's own cgroup in a container; of the root elsewhere, which has
 * none. */
static const char *const quota_files[] = {
	"/sys/fs/cgroup/cpu.max",
	"/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
};

bool rnic_cpus_parse_is_limited(const char *text)
{
	/* "max 100000", "50000 100000"; "-1", "50000" */
	return *text >= '0' && *text <= '9';
}

/* As util/cancel.h says. */
static bool is_limited(const char *path)
{
	int fd = rnic_fd_own(
		(int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
	char text[64];
	long len;

	if (fd < 0)
		return false;
	len = syscall(SYS_pread64, fd, text, sizeof(text) - 1, 0l, 0l);
	rnic_fd_close(fd);
	text[len > 0 ? len : 0] = '\0';
	return rnic_cpus_parse_is_limited(text);
}

bool rnic_cpus_have_quota(void)
{
	bool has_quota = false;

	for (size_t i = 0; i < sizeof(quota_files) / sizeof(*quota_files); i++)
		has_quota |= is_limited(quota_files[i]);
	return has_quota;
}

uint64_t rnic_cpus_lost_cnt(void)
{
	struct rusage usage;

	/* It fails for no process that asks for itself. */
	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)usage.ru_nivcsw;
}
