/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Slots of resources: what others see of them.  Each case runs in its own
 * process, because settings are read once and there is one page per process.
 */
#define _GNU_SOURCE
#include "os/resource.h"
#include "statdir.h"

#include "os/stat.h"
#include "util/stat-read.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static bool page_read(struct util_stat *stat)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/usiw.%d", dir, (int)getpid());
	return util_stat_read(open(path, O_RDONLY), stat) == 0;
}

struct seen {
	uint32_t cnt;
	uint64_t id_sum, len_sum;
};

static int mr_see(void *arg, const void *resource, struct util_stat_place place)
{
	const struct usiw_res_mr *mr = resource;
	struct seen *seen = arg;

	(void)place;
	seen->cnt++;
	seen->id_sum += mr->head.id;
	seen->len_sum += mr->len;
	return 0;
}

static struct seen mrs_see(void)
{
	struct seen seen = { 0 };
	struct util_stat stat;

	if (!page_read(&stat) ||
	    util_stat_each(&stat, USIW_RES_MR, mr_see, &seen) != 0)
		seen.cnt = UINT32_MAX;
	close(stat.fd);
	return seen;
}

static struct usiw_res_mr *mr_add(uint32_t id)
{
	struct usiw_res_mr *mr;

	rnic_stat_init();
	mr = rnic_res_take(USIW_RES_MR, id);
	mr->len = 1;
	rnic_res_close(&mr->head);
	return mr;
}

static int check_life(void)
{
	struct usiw_res_mr *mr[2];

	rnic_stat_init();
	mr[0] = rnic_res_take(USIW_RES_MR, 0);
	CHECK(mr[0] && (uintptr_t)mr[0] % 64 == 0 && mr[0]->head.id == 1);
	CHECK(mrs_see().cnt == 0); /* not complete */
	rnic_res_close(&mr[0]->head);
	CHECK(mrs_see().cnt == 1);
	mr[1] = mr_add(0x4711);
	CHECK(mrs_see().id_sum == 0x4712 && mrs_see().len_sum == 1);
	rnic_res_open(&mr[1]->head);
	CHECK(mrs_see().cnt == 1);
	mr[1]->len = 9;
	rnic_res_close(&mr[1]->head);
	CHECK(mrs_see().len_sum == 9);
	rnic_res_give(USIW_RES_MR, mr[1]);
	rnic_res_give(USIW_RES_MR, NULL);
	CHECK(mrs_see().id_sum == 1);
	/* What the last one wrote there is gone. */
	CHECK(rnic_res_take(USIW_RES_MR, 5) == mr[1]);
	CHECK(mr[1]->len == 0 && mr[1]->head.id == 5);
	return 0;
}

CASE(shows_what_exists)
{
	assert_int_equal(run(check_life, dir), 0);
}

#define MANY 20000

static int check_many(void)
{
	static struct usiw_res_mr *mr[MANY];
	struct seen seen;

	rnic_stat_init();
	for (uint32_t i = 0; i < MANY; i++)
		mr[i] = mr_add(i + 1);
	seen = mrs_see();
	CHECK(seen.cnt == MANY && seen.id_sum == MANY * (MANY + 1ull) / 2);
	for (uint32_t i = 0; i < MANY; i += 2)
		rnic_res_give(USIW_RES_MR, mr[i]);
	CHECK(mrs_see().cnt == MANY / 2);
	return 0;
}

CASE(grows)
{
	assert_int_equal(run(check_many, dir), 0);
}

/* The file cannot grow. */
static int check_unseen(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	static struct usiw_res_mr *mr[10000];
	struct util_stat stat;
	uint32_t seen_cnt;

	limit.rlim_cur = 300000;
	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	for (uint32_t i = 0; i < 10000; i++) {
		mr[i] = mr_add(2);
		CHECK(mr[i]);
	}
	seen_cnt = mrs_see().cnt;
	CHECK(seen_cnt > 1000 && seen_cnt < 9000);
	CHECK(page_read(&stat) && stat.unseen[USIW_RES_MR] == 10000 - seen_cnt);
	rnic_res_give(USIW_RES_MR, mr[9999]);
	CHECK(page_read(&stat) && stat.unseen[USIW_RES_MR] == 9999 - seen_cnt &&
	      stat.used[USIW_RES_MR] == 9999);
	/* What becomes free in the file is used. */
	rnic_res_give(USIW_RES_MR, mr[0]);
	CHECK(mr_add(1) == mr[0]);
	return 0;
}

/* No page can be made. */
static int check_no_page(void)
{
	struct rlimit limit = { 1000, RLIM_INFINITY };
	struct usiw_res_mr *mr;

	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	mr = mr_add(1);
	CHECK(mr && (uintptr_t)mr % 64 == 0);
	mr->len = 5;
	rnic_res_give(USIW_RES_MR, mr);
	return 0;
}

CASE(works_without_a_page)
{
	assert_int_equal(run(check_no_page, dir), 0);
}

CASE(counts_what_has_no_slot)
{
	assert_int_equal(run(check_unseen, dir), 0);
}

/* A program that closes all numbers opens another file. */
static int check_other_file(void)
{
	char path[128];
	struct seen seen;
	FILE *file;

	rnic_stat_init();
	closefrom(3);
	snprintf(path, sizeof(path), "%s/other", dir);
	for (int i = 0; i < 2000; i++) {
		file = fopen(path, "w+");
		if (!file)
			break;
		fputs("precious", file);
		fflush(file);
	}
	for (uint32_t i = 0; i < 1000; i++)
		CHECK(mr_add(1));
	file = fopen(path, "re");
	if (file) {
		fseek(file, 0, SEEK_END);
		CHECK(ftell(file) == 8);
	}
	closefrom(3);
	seen = mrs_see();
	CHECK(seen.cnt == 0);
	return 0;
}

CASE(writes_to_no_other_file)
{
	assert_int_equal(run(check_other_file, dir), 0);
}

static int child_check(struct usiw_res_mr *inherited,
		       struct usiw_res_mr *private)
{
	rnic_stat_fork_child();
	rnic_res_fork_child();
	inherited->len = 1000;
	rnic_res_give(USIW_RES_MR, inherited);
	rnic_res_give(USIW_RES_MR, private);
	CHECK(mr_add(50) != inherited);
	CHECK(mrs_see().cnt == 1 && mrs_see().id_sum == 50);
	return 0;
}

static int check_fork(void)
{
	struct rlimit low = { 100000, RLIM_INFINITY };
	struct usiw_res_mr *private, *mr = mr_add(7);
	struct util_stat stat;
	uint32_t seen_cnt;
	int status;
	pid_t pid;

	CHECK(setrlimit(RLIMIT_FSIZE, &low) == 0);
	do { /* until the file cannot grow */
		seen_cnt = mrs_see().cnt;
		private = mr_add(1);
	} while (mrs_see().cnt > seen_cnt);
	pid = fork();
	if (pid == 0)
		_exit(child_check(mr, private));
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(mrs_see().cnt == seen_cnt && mrs_see().len_sum == seen_cnt);
	CHECK(page_read(&stat) && stat.unseen[USIW_RES_MR] == 1);
	return 0;
}

CASE(gives_a_forked_child_its_own)
{
	assert_int_equal(run(check_fork, dir), 0);
}

static void *take_and_give(void *arg)
{
	for (int i = 0; i < 20000; i++)
		rnic_res_give(USIW_RES_MR, mr_add(1));
	return arg;
}

static int check_threads(void)
{
	pthread_t thread[4];

	rnic_stat_init();
	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&thread[i], NULL, take_and_give, NULL) ==
		      0);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	CHECK(mrs_see().cnt == 0);
	return 0;
}

CASE(serves_threads)
{
	assert_int_equal(run(check_threads, dir), 0);
}
ALL_CASES_WITH(setup, teardown);
