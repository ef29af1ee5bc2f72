/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Finds counter pages in /proc/PID/fd and in files. */
#define _GNU_SOURCE
#include "page-find.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cancel.h"

/* Return: the number; -1: it is none that a process has. */
static int pid_of(const char *text)
{
	long pid = 0;

	if (!*text)
		return -1;
	for (; isdigit((unsigned char)*text) && pid <= INT32_MAX; text++)
		pid = 10 * pid + (*text - '0');
	return *text || pid > INT32_MAX ? -1 : (int)pid;
}

/* The number in NAME.PID; -1: the file is called otherwise. */
static int file_pid(const char *name, const char *file)
{
	size_t len = strlen(name);

	if (strncmp(file, name, len) != 0 || file[len] != '.')
		return -1;
	return pid_of(file + len + 1);
}

/* ---- processes ----------------------------------------------------------- */

/*
 * A process may give any file such a name.  Opening the file must not have an
 * effect, and reading it must not wait, as it may in a file system that a user
 * serves.
 */
static bool fd_is_local_file(int fd)
{
	static const unsigned int types[] = {
		TMPFS_MAGIC,	   EXT4_SUPER_MAGIC,	  XFS_SUPER_MAGIC,
		BTRFS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC,
	};
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || fstatfs(fd, &fs) < 0)
		return false;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if ((unsigned int)fs.f_type == types[i])
			return true;
	return false;
}

/* A memfd, or a file of USIW_STAT_DIR. */
static bool link_is_page(const char *name, int dir_fd, const char *entry)
{
	char link[PATH_MAX], memfd[64];
	const char *base;
	ssize_t len;

	len = readlinkat(dir_fd, entry, link, sizeof(link) - 1);
	if (len <= 0 || link[0] != '/')
		return false;
	link[len] = '\0';
	snprintf(memfd, sizeof(memfd), "/memfd:%s-stat (deleted)", name);
	base = strrchr(link, '/') + 1;
	return strcmp(link, memfd) == 0 || file_pid(name, base) > 0;
}

/* What was looked at is what is opened, though the process may exchange it.
 * Return: a descriptor; -1: it is no such file. */
static int fd_open(int dir_fd, const char *entry)
{
	int path_fd = openat(dir_fd, entry, O_PATH | O_CLOEXEC);
	char path[64];
	int fd = -1;

	if (path_fd < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	if (fd_is_local_file(path_fd))
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	util_sys_close(path_fd);
	return fd;
}

/* Return: what the caller's function returns; 0: it is no page. */
static int fd_try(const struct util_page_search *search, int dir_fd,
		  const char *entry, int pid)
{
	struct util_found_page page = { .pid = pid, .num = pid_of(entry) };
	int ret;

	if (page.num < 0 || !link_is_page(search->name, dir_fd, entry))
		return 0;
	page.fd = fd_open(dir_fd, entry);
	if (page.fd < 0)
		return 0;
	ret = search->found(search->arg, &page);
	util_sys_close(page.fd);
	return ret;
}

/* Return: 1: its page was found; else as util_page_find(). */
static int process_try(const struct util_page_search *search, int pid)
{
	const struct dirent *entry;
	char path[64];
	int ret = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (ret == 0 && (errno = 0, entry = readdir(dir)))
		ret = fd_try(search, dirfd(dir), entry->d_name, pid);
	/* It may have ended meanwhile; of a zombie nothing can be listed. */
	if (ret == 0)
		ret = errno ? -errno : -ENOENT;
	closedir(dir);
	return ret;
}

/* That a process has ended, or cannot be looked at, does not concern the
 * others. */
static bool is_of_process(int err)
{
	return err == -ESRCH || err == -EACCES || err == -EPERM ||
	       err == -ENOENT;
}

static int processes_try(const struct util_page_search *search)
{
	const struct dirent *entry;
	int ret = 0;
	DIR *dir;

	dir = opendir("/proc");
	if (!dir)
		return -errno;
	while (ret >= 0 && (entry = readdir(dir))) {
		int pid = pid_of(entry->d_name);

		if (pid <= 0 ||
		    (search->skips && search->skips(search->arg, pid)))
			continue;
		ret = process_try(search, pid);
		if (is_of_process(ret))
			ret = 0;
	}
	closedir(dir);
	return ret < 0 ? ret : 0;
}

int util_page_find(const struct util_page_search *search, int pid)
{
	int ret;

	if (!pid)
		return processes_try(search);
	ret = process_try(search, pid);
	return ret < 0 ? ret : 0;
}

bool util_page_is_own(int pid, uint32_t own)
{
	char path[64], line[512];
	bool is_own = false;
	char *word, *rest;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, "NSpid:", 6) != 0)
			continue;
		word = strtok_r(line + 6, "\t \n", &rest);
		for (; word; word = strtok_r(NULL, "\t \n", &rest))
			is_own |= strtoul(word, NULL, 10) == own;
	}
	fclose(file);
	return is_own;
}

/* ---- files --------------------------------------------------------------- */

static int file_try(const struct util_page_search *search, int dir_fd,
		    const char *path)
{
	struct util_found_page page = { .is_file = true };
	const char *number = strrchr(path, '.');
	struct stat st;
	int ret;

	page.fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (page.fd < 0)
		return -errno;
	if (number && pid_of(number + 1) > 0)
		page.pid = pid_of(number + 1);
	ret = fstat(page.fd, &st) == 0 && S_ISREG(st.st_mode)
		      ? search->found(search->arg, &page)
		      : -EINVAL;
	util_sys_close(page.fd);
	return ret < 0 ? ret : 0;
}

/* Sorted by version, NAME.9 is before NAME.10.  Return: the first error. */
static int directory_try(const struct util_page_search *search,
			 const char *path)
{
	int dir_fd, cnt, ret = 0, err = 0;
	struct dirent **entries;

	dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return -errno;
	cnt = scandirat(dir_fd, ".", &entries, NULL, versionsort);
	if (cnt < 0)
		ret = -errno;
	for (int i = 0; i < cnt; i++) {
		if (err != -ENOMEM &&
		    file_pid(search->name, entries[i]->d_name) >= 0) {
			err = file_try(search, dir_fd, entries[i]->d_name);
			/* It vanishes, or is being made. */
			if (ret == 0 && err != -ENOENT && err != -EAGAIN)
				ret = err;
		}
		free(entries[i]);
	}
	if (cnt >= 0)
		free(entries);
	util_sys_close(dir_fd);
	return err == -ENOMEM ? err : ret;
}

int util_page_find_file(const struct util_page_search *search, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? directory_try(search, path)
				   : file_try(search, AT_FDCWD, path);
}

/* ---- both ---------------------------------------------------------------- */

ssize_t util_page_read(int fd, void *buf, size_t len, uint64_t offset)
{
	size_t done = 0;
	ssize_t got;

	while (done < len) {
		got = pread(fd, (uint8_t *)buf + done, len - done,
			    (off_t)(offset + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}
