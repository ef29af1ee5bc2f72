/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * stat.c: each case in its own process, because settings are read once and
 * there is one page per process.
 */
#include "os/stat.h"
#include "statdir.h"

#include "abi/usiw-abi.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool page_read(pid_t pid, struct usiw_stat_page *page)
{
	char path[128];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "%s/usiw.%d", dir, (int)pid);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return false;
	len = read(fd, page, sizeof(*page));
	close(fd);
	return len == (ssize_t)sizeof(*page) && page->magic == USIW_STAT_MAGIC;
}

static uint64_t page_value(const struct usiw_stat_page *page, const char *name)
{
	for (uint32_t i = 0; i < page->count; i++) {
		uint64_t sum = page->stat[i].value;

		for (uint32_t k = 0; k < page->part_cnt; k++)
			sum += page->part[k].value[i];
		if (strcmp(page->stat[i].name, name) == 0)
			return sum;
	}
	return UINT64_MAX;
}

static int check_file(void)
{
	struct usiw_stat_page page;
	struct stat st;
	char path[128];

	umask(022);
	rnic_stat_add(RNIC_STAT_accepts, 2); /* before there is a page */
	rnic_stat_init();
	rnic_stat_init();
	rnic_stat_add(RNIC_STAT_accepts, 3);
	rnic_stat_add(RNIC_STAT_rx_octets, UINT64_C(1) << 40);
	if (!page_read(getpid(), &page))
		return 1;
	if (page.version != USIW_STAT_VERSION || page.count != RNIC_STAT_CNT ||
	    page.pid != (uint32_t)getpid())
		return 2;
	if (page_value(&page, "accepts") != 5 ||
	    page_value(&page, "rx_octets") != UINT64_C(1) << 40 ||
	    page_value(&page, "qp_created") != 0)
		return 3;
	snprintf(path, sizeof(path), "%s/usiw.%d", dir, (int)getpid());
	if (stat(path, &st) != 0 || (st.st_mode & 07777) != 0640)
		return 4;
	return 0;
}

CASE_WITH(makes_a_readable_file_that_outlives_it, setup, teardown)
{
	DIR *d;
	int cnt = 0;

	assert_int_equal(run(check_file, dir), 0);
	d = opendir(dir);
	while (readdir(d))
		cnt++;
	closedir(d);
	assert_int_equal(cnt, 3); /* the file, . and .. */
}

/* One more than there are parts: the last one counts where all may. */
static int check_parts(void)
{
	struct rnic_stat_part part[USIW_STAT_PARTS + 1];
	struct usiw_stat_page page;
	uint64_t seen = 0;

	for (int i = 0; i <= USIW_STAT_PARTS; i++) {
		part[i] = rnic_stat_part_take();
		if (seen & UINT64_C(1) << part[i].num)
			return 1;
		seen |= UINT64_C(1) << part[i].num;
		/* before there is a page */
		rnic_stat_count(part[i], RNIC_STAT_cqe, 1);
	}
	if (part[USIW_STAT_PARTS].num != 0)
		return 2;
	rnic_stat_init();
	for (int i = 0; i <= USIW_STAT_PARTS; i++)
		rnic_stat_count(part[i], RNIC_STAT_cqe, 100);
	rnic_stat_add(RNIC_STAT_cqe, 10000);
	if (!page_read(getpid(), &page) || page.part_cnt != USIW_STAT_PARTS ||
	    page_value(&page, "cqe") != 10000 + 101 * (USIW_STAT_PARTS + 1))
		return 3;
	if (page.part[part[7].num - 1].value[RNIC_STAT_cqe] != 101)
		return 4;
	rnic_stat_part_give(part[7]);
	return rnic_stat_part_take().num == part[7].num ? 0 : 5;
}

CASE_WITH(counts_in_parts_that_readers_add, setup, teardown)
{
	assert_int_equal(run(check_parts, dir), 0);
}

/* An engine of this thread, which counts alone. */
static void *count_alone(void *arg)
{
	struct rnic_stat_part part = rnic_stat_part_take();

	for (int i = 0; i < 100000; i++)
		rnic_stat_count(part, RNIC_STAT_cqe, 1);
	rnic_stat_part_give(part);
	return arg;
}

static int check_threads(void)
{
	struct usiw_stat_page page;
	pthread_t thread[4];

	rnic_stat_init();
	for (int i = 0; i < 4; i++)
		if (pthread_create(&thread[i], NULL, count_alone, NULL))
			return 1;
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	return page_read(getpid(), &page) && page_value(&page, "cqe") == 400000
		       ? 0
		       : 2;
}

CASE_WITH(loses_no_count_of_threads_with_parts, setup, teardown)
{
	assert_int_equal(run(check_threads, dir), 0);
}

static int check_fork(void)
{
	struct usiw_stat_page page;
	int status;
	pid_t pid;

	rnic_stat_init();
	rnic_stat_add(RNIC_STAT_cqe, 1);
	pid = fork();
	if (pid == 0) {
		rnic_stat_fork_child();
		rnic_stat_add(RNIC_STAT_cqe, 7);
		rnic_stat_init();
		rnic_stat_add(RNIC_STAT_cqe, 10);
		_exit(page_read(getpid(), &page) &&
				      page_value(&page, "cqe") == 17
			      ? 0
			      : 1);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		return 1;
	if (!page_read(getpid(), &page) || page_value(&page, "cqe") != 1)
		return 2;
	return 0;
}

CASE_WITH(gives_a_forked_child_its_own_page, setup, teardown)
{
	assert_int_equal(run(check_fork, dir), 0);
}

static int check_trap(void)
{
	struct usiw_stat_page page;
	char path[128], victim[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/usiw.%d", dir, (int)getpid());
	snprintf(victim, sizeof(victim), "%s/victim", dir);
	close(open(victim, O_CREAT | O_WRONLY, 0600));
	if (symlink(victim, path) != 0)
		return 1;
	rnic_stat_init();
	if (stat(victim, &st) != 0 || st.st_size != 0)
		return 2;
	return page_read(getpid(), &page) ? 0 : 3;
}

CASE_WITH(does_not_follow_a_link_in_its_place, setup, teardown)
{
	assert_int_equal(run(check_trap, dir), 0);
}

static bool has_memfd(void)
{
	char path[300], target[64];
	struct dirent *entry;
	DIR *d = opendir("/proc/self/fd");
	bool is_found = false;

	while ((entry = readdir(d))) {
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		len = readlink(path, target, sizeof(target) - 1);
		target[len > 0 ? len : 0] = 0;
		is_found |= strstr(target, "memfd:usiw-stat") != NULL;
	}
	closedir(d);
	return is_found;
}

/* With stderr in a file: number of lines printed. */
static int check_missing_dir(void)
{
	char text[2000];
	ssize_t len;
	FILE *err = tmpfile();

	if (!err || dup2(fileno(err), 2) != 2)
		return 1;
	rnic_stat_init();
	rnic_stat_add(RNIC_STAT_cqe, 1);
	rnic_stat_init();
	len = pread(fileno(err), text, sizeof(text) - 1, 0);
	text[len > 0 ? len : 0] = 0;
	if (!strstr(text, "/nonexistent/usiw"))
		return 2;
	if (strchr(text, '\n') != strrchr(text, '\n'))
		return 3;
	return has_memfd() ? 0 : 4;
}

CASE(falls_back_to_a_memfd_and_says_so_once)
{
	assert_int_equal(run(check_missing_dir, "/nonexistent/usiw"), 0);
}

static int check_no_dir(void)
{
	rnic_stat_init();
	return has_memfd() ? 0 : 1;
}

CASE(uses_a_memfd_without_the_setting)
{
	assert_int_equal(run(check_no_dir, NULL), 0);
}
