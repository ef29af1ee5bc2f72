/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Copies statistics pages of processes, and of files. */
#include "tools/stat-find.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "util/page-find.h"

#define PAGE_NAME "usiw-sdp"

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

/* Takes over the snapshot. */
static int process_take(struct stat_list *list, struct stat_process *process)
{
	int ret = list_append(list, process);

	if (ret < 0)
		sdp_stat_snapshot_free(&process->snapshot);
	return ret < 0 ? ret : 1;
}

/* A forked child without a page of its own still has its parent's
 * descriptor. */
static int running_found(void *arg, const struct util_found_page *page)
{
	struct stat_process process = { .pid = page->pid };
	struct stat_list *list = arg;
	int ret = sdp_stat_read(page->fd, &process.snapshot);

	if (ret == -EPROTO)
		list->misfit_pid = page->pid;
	if (ret < 0)
		return ret == -ENOMEM ? ret : 0;
	if (util_page_is_own(page->pid, process.snapshot.head.pid))
		return process_take(list, &process);
	sdp_stat_snapshot_free(&process.snapshot);
	return 0;
}

int stat_find_processes(struct stat_list *list, int pid)
{
	const struct util_page_search search = {
		.name = PAGE_NAME,
		.found = running_found,
		.arg = list,
	};
	int ret = util_page_find(&search, pid);

	/* One that is not there, or another user's, is not found. */
	return pid && ret != -ENOMEM ? 0 : ret;
}

static int file_found(void *arg, const struct util_found_page *page)
{
	struct stat_process process = { .pid = 0 };
	int ret = sdp_stat_read(page->fd, &process.snapshot);

	if (ret < 0)
		return ret;
	process.pid = (int)process.snapshot.head.pid;
	process.is_ended = kill(process.pid, 0) < 0 && errno == ESRCH;
	return process_take(arg, &process);
}

int stat_find_file(struct stat_list *list, const char *path)
{
	const struct util_page_search search = {
		.name = PAGE_NAME,
		.found = file_found,
		.arg = list,
	};

	return util_page_find_file(&search, path);
}

void stat_list_clear(struct stat_list *list)
{
	for (size_t i = 0; i < list->cnt; i++)
		sdp_stat_snapshot_free(&list->process[i].snapshot);
	free(list->process);
	*list = (struct stat_list){ .cnt = 0 };
}
