/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See file.h. */
#define _GNU_SOURCE
#include "doctor/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Not open(): that may be the preload library's, which shows its own
 * /sys/class/infiniband. */
static int file_open(const char *path, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path,
			    flags | O_RDONLY | O_CLOEXEC);
}

bool file_line(const char *path, char *ret_text, size_t size)
{
	int fd = file_open(path, 0);
	ssize_t len;

	ret_text[0] = '\0';
	if (fd < 0)
		return false;
	len = read(fd, ret_text, size - 1);
	syscall(SYS_close, fd);
	ret_text[len > 0 ? len : 0] = '\0';
	ret_text[strcspn(ret_text, "\n")] = '\0';
	return len > 0;
}

int file_entries(const char *path, void (*each)(const char *name, void *arg),
		 void *arg)
{
	_Alignas(struct dirent64) char octets[4096];
	int fd = file_open(path, O_DIRECTORY), cnt = 0;
	long len;

	if (fd < 0)
		return -1;
	while ((len = syscall(SYS_getdents64, fd, octets, sizeof(octets))) >
	       0) {
		const struct dirent64 *entry;

		for (long at = 0; at < len; at += entry->d_reclen) {
			entry = (const struct dirent64 *)(octets + at);
			if (entry->d_name[0] == '.')
				continue;
			each(entry->d_name, arg);
			cnt++;
		}
	}
	syscall(SYS_close, fd);
	return cnt;
}
