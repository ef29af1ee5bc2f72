/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Finds statistics pages in /proc/PID/fd and in files. */
#define _GNU_SOURCE
#include "tools/stat-find.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMFD_LINK "/memfd:usiw-sdp-stat"
#define FILE_PREFIX "usiw-sdp."

static int list_append(struct stat_list *list,
		       const struct stat_process *process)
{
	struct stat_process *bigger;

	bigger = realloc(list->process, (list->cnt + 1) * sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	list->process = bigger;
	list->process[list->cnt++] = *process;
	return 0;
}

static bool is_number(const char *text)
{
	for (const char *c = text; *c; c++)
		if (!isdigit((unsigned char)*c))
			return false;
	return *text != '\0';
}

/*
 * Whether process @pid has the number @own in its own PID namespace. A forked
 * child without a page of its own still has its parent's descriptor.
 */
static bool is_own_pid(const char *pid, uint32_t own)
{
	char path[64], line[512];
	bool is_own = false;
	char *word, *rest;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/status", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, "NSpid:", 6))
			continue;
		word = strtok_r(line + 6, "\t \n", &rest);
		for (; word; word = strtok_r(NULL, "\t \n", &rest))
			is_own |= strtoul(word, NULL, 10) == own;
	}
	fclose(file);
	return is_own;
}

/* Return: 1: a page of the process; 0: not one; -ENOMEM. */
static int fd_try(struct stat_list *list, int dir_fd, const char *name,
		  const char *pid)
{
	struct stat_process process = { .pid = atoi(pid) };
	char link[64];
	ssize_t len;
	int fd, ret;

	len = readlinkat(dir_fd, name, link, sizeof(link) - 1);
	if (len < 0)
		return 0;
	link[len] = '\0';
	if (strncmp(link, MEMFD_LINK, sizeof(MEMFD_LINK) - 1))
		return 0;
	fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return 0;
	ret = sdp_stat_read(fd, &process.snapshot);
	close(fd);
	if (ret == -EPROTO)
		list->misfit_pid = process.pid;
	if (ret < 0)
		return ret == -ENOMEM ? ret : 0;
	ret = is_own_pid(pid, process.snapshot.head.pid)
		      ? list_append(list, &process)
		      : 1;
	if (ret)
		sdp_stat_snapshot_free(&process.snapshot);
	return ret < 0 ? ret : !ret;
}

static int process_try(struct stat_list *list, const char *pid)
{
	struct dirent *entry;
	char path[64];
	int ret = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	dir = opendir(path);
	if (!dir)
		return 0; /* another user's process, or it has ended */
	while (ret == 0 && (entry = readdir(dir)))
		if (is_number(entry->d_name))
			ret = fd_try(list, dirfd(dir), entry->d_name, pid);
	closedir(dir);
	return ret < 0 ? ret : 0;
}

int stat_find_processes(struct stat_list *list, int pid)
{
	struct dirent *entry;
	char number[16];
	int ret = 0;
	DIR *dir;

	if (pid) {
		snprintf(number, sizeof(number), "%d", pid);
		return process_try(list, number);
	}
	dir = opendir("/proc");
	if (!dir)
		return -errno;
	while (ret == 0 && (entry = readdir(dir)))
		if (is_number(entry->d_name))
			ret = process_try(list, entry->d_name);
	closedir(dir);
	return ret;
}

static int page_file_take(struct stat_list *list, const char *path)
{
	struct stat_process process = { .pid = 0 };
	int fd, ret;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	ret = sdp_stat_read(fd, &process.snapshot);
	close(fd);
	if (ret < 0)
		return ret;
	process.pid = (int)process.snapshot.head.pid;
	process.is_ended = kill(process.pid, 0) < 0 && errno == ESRCH;
	ret = list_append(list, &process);
	if (ret < 0)
		sdp_stat_snapshot_free(&process.snapshot);
	return ret;
}

static int page_filter(const struct dirent *entry)
{
	return !strncmp(entry->d_name, FILE_PREFIX, sizeof(FILE_PREFIX) - 1);
}

static int directory_take(struct stat_list *list, const char *path)
{
	struct dirent **entries;
	char *file;
	int cnt, ret = 0;

	cnt = scandir(path, &entries, page_filter, versionsort);
	if (cnt < 0)
		return -errno;
	for (int i = 0; i < cnt; i++) {
		if (ret == 0 &&
		    asprintf(&file, "%s/%s", path, entries[i]->d_name) < 0)
			ret = -ENOMEM;
		if (ret == 0) {
			ret = page_file_take(list, file);
			/* The page is being created or removed. */
			if (ret == -EAGAIN || ret == -ENOENT)
				ret = 0;
			free(file);
		}
		free(entries[i]);
	}
	free(entries);
	return ret;
}

int stat_find_file(struct stat_list *list, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? directory_take(list, path)
				   : page_file_take(list, path);
}

void stat_list_clear(struct stat_list *list)
{
	for (size_t i = 0; i < list->cnt; i++)
		sdp_stat_snapshot_free(&list->process[i].snapshot);
	free(list->process);
	*list = (struct stat_list){ .cnt = 0 };
}
