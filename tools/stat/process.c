/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See process.h. */
#define _GNU_SOURCE
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "util/page-find.h"
#include "util/plain-text.h"

/* What a search is about. */
struct search {
	struct process_list *list;
	int ret; /* why a page could not be taken */
};

static void process_free(struct process *process)
{
	close(process->fd);
	if (process->proc_fd >= 0)
		close(process->proc_fd);
	free(process);
}

static int list_append(struct process_list *list, struct process *process)
{
	struct process **bigger =
		realloc(list->at, (list->cnt + 1) * sizeof(*bigger));

	if (!bigger)
		return -ENOMEM;
	list->at = bigger;
	list->at[list->cnt++] = process;
	return 0;
}

static bool list_has(const struct process_list *list, int pid)
{
	for (size_t i = 0; i < list->cnt; i++)
		if (list->at[i]->pid == pid && list->at[i]->proc_fd >= 0)
			return true;
	return false;
}

/* The user's name, or number. */
static void user_set(struct process *process, int fd)
{
	const struct passwd *entry;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return;
	entry = getpwuid(st.st_uid);
	if (entry)
		snprintf(process->user, sizeof(process->user), "%s",
			 entry->pw_name);
	else
		snprintf(process->user, sizeof(process->user), "%u",
			 (unsigned int)st.st_uid);
	util_plain_text(process->user, sizeof(process->user));
}

/* One that has ended has no program any more, before it is waited for and after
 * that. */
bool process_lives(const struct process *process)
{
	char link[2];

	return readlinkat(process->proc_fd, "exe", link, sizeof(link)) >= 0;
}

/* @path: empty: @dir_fd itself. */
static bool is_same_file(int fd, int dir_fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 &&
	       fstatat(dir_fd, path, &b, AT_EMPTY_PATH) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* The end of the process, or of its program, closes the descriptor. */
static bool page_is_there(const struct process *process)
{
	char path[32];

	snprintf(path, sizeof(path), "fd/%d", process->num);
	return is_same_file(process->fd, process->proc_fd, path);
}

static int process_add(struct process_list *list, const struct process *from)
{
	struct process *process = malloc(sizeof(*process));
	int ret;

	if (!process)
		return -ENOMEM;
	*process = *from;
	process->fd = fcntl(from->fd, F_DUPFD_CLOEXEC, 3);
	process->stat.fd = process->fd;
	ret = process->fd < 0 ? -errno : list_append(list, process);
	if (ret < 0)
		process_free(process);
	return ret;
}

/* ---- in /proc ------------------------------------------------------------ */

static int proc_open(int pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* A forked child without a page of its own may have its parent's. */
static int running_found(void *arg, const struct util_found_page *page)
{
	struct process process = { .pid = page->pid,
				   .fd = page->fd,
				   .num = page->num };
	struct search *search = arg;
	int ret = util_stat_read(page->fd, &process.stat);

	if (ret == -EPROTONOSUPPORT)
		search->list->misfit_pid = page->pid;
	if (ret < 0) {
		search->ret = ret;
		return ret == -ENOMEM ? ret : 0;
	}
	if (!util_page_is_own(page->pid, process.stat.pid))
		return 0;
	process.proc_fd = proc_open(page->pid);
	if (process.proc_fd < 0)
		return 0; /* it has ended */
	user_set(&process, process.proc_fd);
	ret = process_add(search->list, &process);
	if (ret < 0) {
		close(process.proc_fd);
		return ret;
	}
	search->ret = 0;
	return 1;
}

static bool running_skips(void *arg, int pid)
{
	const struct search *search = arg;

	return list_has(search->list, pid);
}

/* Does not wait for a page that is being made: as process_find() otherwise. */
static int find_once(struct process_list *list, int pid)
{
	struct search state = { .list = list };
	const struct util_page_search search = {
		.name = UTIL_STAT_NAME,
		.found = running_found,
		.skips = running_skips,
		.arg = &state,
	};
	int ret = util_page_find(&search, pid);

	/* A page was there, and was not taken. */
	return pid && ret == -ENOENT && state.ret < 0 ? state.ret : ret;
}

/* For a page that is being made, a millisecond apart. */
#define FIND_TRIES 1000

int process_find(struct process_list *list, int pid)
{
	static const struct timespec nap = { .tv_nsec = 1000000 };
	int ret = find_once(list, pid);

	/* A process that has just begun makes its page in microseconds. */
	for (int i = 0; i < FIND_TRIES && ret == -EAGAIN; i++) {
		nanosleep(&nap, NULL);
		ret = find_once(list, pid);
	}
	return ret;
}

/* ---- files --------------------------------------------------------------- */

/* Of the process of a file only the number is known, and another one may have
 * got it.  One that cannot be looked at lives. */
static bool file_has_ended(const struct process *process)
{
	struct process_list list = { .cnt = 0 };
	int ret = find_once(&list, process->pid);
	bool has_ended = ret == -ESRCH || ret == -ENOENT;

	if (ret == 0)
		has_ended = !is_same_file(process->fd, list.at[0]->fd, "");
	process_list_free(&list);
	return has_ended;
}

bool process_has_ended(const struct process *process)
{
	return process->proc_fd < 0 ? file_has_ended(process)
				    : !page_is_there(process);
}

static bool list_has_file(const struct process_list *list, int fd)
{
	for (size_t i = 0; i < list->cnt; i++)
		if (is_same_file(fd, list->at[i]->fd, ""))
			return true;
	return false;
}

static int file_found(void *arg, const struct util_found_page *page)
{
	struct process process = { .fd = page->fd, .proc_fd = -1 };
	struct process_list *list = arg;
	int ret;

	if (list_has_file(list, page->fd))
		return 0;
	ret = util_stat_read(page->fd, &process.stat);
	if (ret < 0)
		return ret;
	process.pid = page->pid ? page->pid : (int)process.stat.pid;
	process.has_ended = process_has_ended(&process);
	user_set(&process, page->fd);
	return process_add(list, &process);
}

int process_find_file(struct process_list *list, const char *path)
{
	const struct util_page_search search = {
		.name = UTIL_STAT_NAME,
		.found = file_found,
		.arg = list,
	};

	return util_page_find_file(&search, path);
}

/* ---- again --------------------------------------------------------------- */

/* Return: whether the program that it executes now has a page, which takes the
 * place of the old one. */
static bool process_renew(struct process *process)
{
	struct process_list list = { .cnt = 0 };
	/* Another one may have the number of a process that has ended. */
	bool is_new = find_once(&list, process->pid) == 0 &&
		      process_lives(process);

	if (is_new) {
		struct process old = *process;

		*process = *list.at[0];
		*list.at[0] = old;
	}
	process_list_free(&list);
	return is_new;
}

int process_refresh(struct process *process)
{
	bool has_ended = process_has_ended(process);

	if (has_ended && process->proc_fd >= 0)
		has_ended = !process_renew(process);
	process->has_ended |= has_ended;
	return util_stat_read(process->fd, &process->stat);
}

static bool file_is_removed(const struct process *process)
{
	struct stat st;

	return process->proc_fd < 0 &&
	       (fstat(process->fd, &st) < 0 || !st.st_nlink);
}

void process_list_refresh(struct process_list *list, bool keeps_ended)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->cnt; i++) {
		struct process *process = list->at[i];

		if (process_refresh(process) < 0 || file_is_removed(process) ||
		    (process->has_ended && process->proc_fd >= 0 &&
		     !keeps_ended))
			process_free(process);
		else
			list->at[kept++] = process;
	}
	list->cnt = kept;
}

void process_list_free(struct process_list *list)
{
	for (size_t i = 0; i < list->cnt; i++)
		process_free(list->at[i]);
	free(list->at);
	*list = (struct process_list){ .cnt = 0 };
}

const char *process_error(int err)
{
	switch (err) {
	case -ESRCH:
		return "there is none";
	case -EACCES:
	case -EPERM:
		return "not permitted: it is another user's, or it must not "
		       "be examined; try as root";
	case -ENOENT:
		return "it has opened no device of usiw; is it run by usiw "
		       "run?";
	case -EPROTONOSUPPORT:
		return "it has another version of usiw: use the usiw command "
		       "that was installed with it";
	case -EPROTO:
		return "its counter page is damaged";
	case -EAGAIN:
		return "its counter page is being made; try again";
	default:
		return strerror(-err);
	}
}
