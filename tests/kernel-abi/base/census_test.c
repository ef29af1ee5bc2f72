/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The resources of several processes: found, sorted, and by device. */
#include "page.h"

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "kernel-abi/base/census.h"

static char dir[] = "/tmp/usiw-census.XXXXXX";

BEFORE_CASES()
{
	(void)argc;
	(void)argv;
	assert_non_null(mkdtemp(dir));
	setenv("USIW_STAT_DIR", dir, 1);
}

static void file_remove(int pid)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/usiw.%d", dir, pid);
	assert_int_equal(unlink(path), 0);
}

/* A process that has its page open, in a file or in memory. */
struct other {
	int pid;
	bool is_file;
};

static struct other other_start(bool is_file, bool has_netns)
{
	struct other other = { .is_file = is_file };
	int fds[2];
	char octet;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	other.pid = fork();
	assert_true(other.pid >= 0);
	if (other.pid == 0) {
		static struct page page;
		int fd;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (has_netns && unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
			_exit(77);
		page_fill(&page, (uint32_t)getpid());
		if (is_file) {
			fd = page_put(&page, dir, getpid());
		} else {
			fd = memfd_create("usiw-stat", MFD_CLOEXEC);
			if (write(fd, &page, sizeof(page)) != sizeof(page))
				_exit(1);
		}
		if (write(fds[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(fds[1]);
	if (read(fds[0], &octet, 1) != 1)
		other.pid = -other.pid;
	close(fds[0]);
	return other;
}

static void other_stop(struct other other)
{
	kill(other.pid, SIGKILL);
	assert_int_equal(waitpid(other.pid, NULL, 0), other.pid);
	if (other.is_file)
		file_remove(other.pid);
}

/* How many rows of a kind the process has. */
static size_t row_cnt(const struct kabi_census *census, enum usiw_res_kind kind,
		      int pid)
{
	const struct kabi_resources *rows = &census->kind[kind];
	size_t cnt = 0;

	for (size_t i = 0; i < rows->cnt; i++)
		cnt += rows->row[i].pid == (uint32_t)pid;
	return cnt;
}

/* The row of a number; NULL: none. */
static const struct kabi_resource *row_of(const struct kabi_census *census,
					  enum usiw_res_kind kind, int pid,
					  uint32_t id)
{
	const struct kabi_resources *rows = &census->kind[kind];

	for (size_t i = 0; i < rows->cnt; i++)
		if (rows->row[i].pid == (uint32_t)pid &&
		    rows->row[i].slot->id == id)
			return &rows->row[i];
	return NULL;
}

static void check_process(const struct kabi_census *census, int pid)
{
	static const struct {
		enum usiw_res_kind kind;
		uint32_t id, ifindex;
		uint64_t user_cnt;
	} rows[] = {
		{ USIW_RES_DEVICE, 2, PAGE_LO, 0 },
		{ USIW_RES_DEVICE, 1, PAGE_ETH, 0 },
		{ USIW_RES_CONTEXT, 2, PAGE_ETH, 0 },
		{ USIW_RES_CONTEXT, 1, PAGE_LO, 0 },
		{ USIW_RES_PD, 2, PAGE_ETH, 1 },
		{ USIW_RES_PD, 1, PAGE_LO, 4 }, /* SRQ, two QPs, MR */
		{ USIW_RES_CQ, 2, PAGE_LO, 4 }, /* two QPs, both ways */
		{ USIW_RES_CQ, 1, PAGE_ETH, 0 },
		{ USIW_RES_SRQ, 1, PAGE_LO, 0 },
		{ USIW_RES_QP, 3, PAGE_LO, 0 },
		{ USIW_RES_QP, 1, 0, 0 },
		{ USIW_RES_MR, 2, PAGE_ETH, 0 },
		{ USIW_RES_MR, 1, PAGE_LO, 0 },
		{ USIW_RES_ID, 2, PAGE_LO, 0 },
		{ USIW_RES_ID, 1, 0, 0 },
	};

	assert_int_equal(row_cnt(census, USIW_RES_QP, pid), 3);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct kabi_resource *row =
			row_of(census, rows[i].kind, pid, rows[i].id);

		if (!row || row->ifindex != rows[i].ifindex ||
		    row->user_cnt != rows[i].user_cnt)
			fail_msg("row %zu", i);
	}
}

CASE(finds_pages_in_memory_and_in_files)
{
	struct other others[] = { other_start(true, false),
				  other_start(false, false) };
	struct kabi_census census;

	assert_int_equal(kabi_census_take(&census), 0);
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		check_process(&census, others[i].pid);
	kabi_census_free(&census);
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		other_stop(others[i]);
}

CASE(numbers_of_a_process_rise)
{
	struct other other = other_start(false, false);
	const struct kabi_resources *rows;
	struct kabi_census census;
	uint32_t last = 0;

	assert_int_equal(kabi_census_take(&census), 0);
	rows = &census.kind[USIW_RES_QP];
	for (size_t i = 0; i < rows->cnt; i++) {
		if (rows->row[i].pid != (uint32_t)other.pid)
			continue;
		assert_true(rows->row[i].slot->id > last);
		last = rows->row[i].slot->id;
	}
	assert_int_equal(last, 3);
	kabi_census_free(&census);
	other_stop(other);
}

/* What an ended process has left; what is no page; what is cut off. */
CASE(leaves_out_what_is_no_process)
{
	static struct page page;
	struct kabi_census census;
	int fd;

	page_fill(&page, (uint32_t)getpid());
	close(page_put(&page, dir, getpid()));
	assert_int_equal(kabi_census_take(&census), 0);
	assert_int_equal(row_cnt(&census, USIW_RES_QP, getpid()), 0);
	kabi_census_free(&census);
	fd = page_put(&page, dir, getpid());
	assert_int_equal(ftruncate(fd, offsetof(struct page, qp)), 0);
	assert_int_equal(kabi_census_take(&census), 0);
	assert_int_equal(row_cnt(&census, USIW_RES_PD, getpid()), 0);
	kabi_census_free(&census);
	assert_int_equal(ftruncate(fd, 5), 0);
	assert_int_equal(kabi_census_take(&census), 0);
	kabi_census_free(&census);
	close(fd);
	file_remove(getpid());
}

/* A child inherits the parent's page. */
CASE(a_page_is_of_one_process)
{
	static struct page page;
	struct kabi_census census;
	int fd = memfd_create("usiw-stat", MFD_CLOEXEC), pid;

	page_fill(&page, (uint32_t)getpid());
	assert_int_equal(write(fd, &page, sizeof(page)), sizeof(page));
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_int_equal(kabi_census_take(&census), 0);
	check_process(&census, getpid());
	assert_int_equal(row_cnt(&census, USIW_RES_QP, pid), 0);
	kabi_census_free(&census);
	other_stop((struct other){ .pid = pid });
	close(fd);
}

CASE(other_networks_have_other_devices)
{
	struct other others[] = { other_start(true, true),
				  other_start(false, true) };
	struct kabi_census census;

	if (others[0].pid < 0 || others[1].pid < 0)
		skip_because("no user namespace can be made");
	assert_int_equal(kabi_census_take(&census), 0);
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		assert_int_equal(row_cnt(&census, USIW_RES_QP, others[i].pid),
				 0);
		other_stop(others[i]);
	}
	kabi_census_free(&census);
}

CASE(the_last_one_removes_the_directory)
{
	assert_int_equal(rmdir(dir), 0);
}
