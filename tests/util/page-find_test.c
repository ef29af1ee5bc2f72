/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Pages that are found in processes and directories, and files that only look
 * like one. */
#define _GNU_SOURCE
#include "statdir.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/page.h"
#include "util/page-find.h"

struct seen {
	int cnt, pid; /* the last one's */
	char text[8];
	bool is_file;
	int result;
	int skipped;
};

static int see(void *arg, const struct util_found_page *page)
{
	struct seen *seen = arg;

	seen->cnt++;
	seen->pid = page->pid;
	seen->is_file = page->is_file;
	if (util_page_read(page->fd, seen->text, sizeof(seen->text), 0) < 0)
		return -EIO;
	errno = ENOMEM; /* of a call that failed without an effect */
	return seen->result;
}

static bool see_skips(void *arg, int pid)
{
	const struct seen *seen = arg;

	return pid == seen->skipped;
}

static int find(const char *name, int pid, struct seen *seen)
{
	const struct util_page_search search = { name, see, see_skips, seen };

	return util_page_find(&search, pid);
}

static int find_file(const char *path, struct seen *seen)
{
	const struct util_page_search search = { "findtest", see, NULL, seen };

	return util_page_find_file(&search, path);
}

/* A process that has called @prepare and waits for its end. */
static pid_t process_start(int (*prepare)(void))
{
	int ready[2];
	char octet;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (prepare() < 0 || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &octet, 1), 1);
	close(ready[0]);
	return pid;
}

static void process_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int page_make(void)
{
	struct util_page page;
	int ret;

	unsetenv("USIW_STAT_DIR");
	ret = util_page_make("tool", "findtest", 4096, 4096, NULL, &page);
	if (ret == 0)
		memcpy(page.mem, "hello", 6);
	return ret;
}

CASE(finds_the_page_of_a_process)
{
	pid_t pid = process_start(page_make);
	struct seen seen = { 0 };

	assert_int_equal(find("findtest", pid, &seen), -ENOENT);
	assert_int_equal(seen.cnt, 1);
	assert_int_equal(seen.pid, pid);
	assert_string_equal(seen.text, "hello");
	assert_false(seen.is_file);
	seen = (struct seen){ .result = 1 };
	assert_int_equal(find("findtest", pid, &seen), 0);
	seen = (struct seen){ .result = 1 };
	assert_int_equal(find("findtest", 0, &seen), 0);
	assert_int_equal(seen.cnt, 1);
	seen = (struct seen){ .result = 1, .skipped = pid };
	assert_int_equal(find("findtest", 0, &seen), 0);
	assert_int_equal(seen.cnt, 0);
	seen = (struct seen){ .result = -EPROTO };
	assert_int_equal(find("findtest", 0, &seen), -EPROTO);
	/* Another name, the beginning of which is the same. */
	assert_int_equal(find("find", pid, &seen), -ENOENT);
	assert_true(util_page_is_own(pid, (uint32_t)pid));
	assert_false(util_page_is_own(pid, (uint32_t)pid + 1));
	process_end(pid);
	assert_int_equal(find("findtest", pid, &seen), -ESRCH);
	assert_false(util_page_is_own(pid, (uint32_t)pid));
}

static int file_make(void)
{
	struct util_page page;
	int ret;

	setenv("USIW_STAT_DIR", dir, 1);
	ret = util_page_make("tool", "findtest", 4096, 4096, NULL, &page);
	if (ret == 0)
		memcpy(page.mem, "file", 5);
	return ret == 0 && page.is_file ? 0 : -1;
}

CASE(finds_the_file_of_a_process)
{
	struct seen seen = { .result = 1 };
	pid_t pid = process_start(file_make);
	char path[128];

	assert_int_equal(find("findtest", pid, &seen), 0);
	assert_string_equal(seen.text, "file");
	process_end(pid);
	snprintf(path, sizeof(path), "%s/findtest.%d", dir, (int)pid);
	assert_int_equal(unlink(path), 0);
}

static int page_and_protection(void)
{
	int ret = page_make();

	return ret < 0 ? ret : prctl(PR_SET_DUMPABLE, 0);
}

CASE(says_that_a_process_is_protected)
{
	struct seen seen = { .result = 1 };
	pid_t pid;

	if (geteuid() == 0) {
		print_message("root may look at all processes\n");
		skip();
	}
	pid = process_start(page_and_protection);
	assert_int_equal(find("findtest", pid, &seen), -EACCES);
	assert_int_equal(find("findtest", 0, &seen), 0);
	assert_int_equal(seen.cnt, 0);
	process_end(pid);
}

static bool word_write(const char *path, const char *word)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return false;
	fputs(word, file);
	return fclose(file) == 0;
}

/* Of mounts; as root, or with a namespace of users. */
static bool namespace_enter(void)
{
	char uids[32], gids[32];

	snprintf(uids, sizeof(uids), "0 %u 1", geteuid());
	snprintf(gids, sizeof(gids), "0 %u 1", getegid());
	if (unshare(CLONE_NEWNS) == 0)
		return true;
	return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
	       word_write("/proc/self/uid_map", uids) &&
	       word_write("/proc/self/setgroups", "deny") &&
	       word_write("/proc/self/gid_map", gids);
}

/* A file system without a place: paths begin there, so that any file can be
 * called as a memfd is. */
static int fifo_open(void)
{
	char path[128];
	int fd;

	if (!namespace_enter() ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", dir, "tmpfs", 0, NULL) < 0)
		return 0;
	snprintf(path, sizeof(path), "%s/memfd:findtest-stat", dir);
	if (mkfifo(path, 0600) < 0)
		return -1;
	fd = open(path, O_RDWR);
	if (fd < 0 || unlink(path) < 0)
		return -1;
	return umount2(dir, MNT_DETACH);
}

/* Does one of its descriptors look like a page? */
static bool process_lies(pid_t pid)
{
	char path[64], link[64];
	ssize_t len;

	for (int fd = 3; fd < 20; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
		len = readlink(path, link, sizeof(link) - 1);
		link[len < 0 ? 0 : len] = '\0';
		if (strcmp(link, "/memfd:findtest-stat (deleted)") == 0)
			return true;
	}
	return false;
}

CASE(opens_nothing_but_memory)
{
	pid_t pid = process_start(fifo_open);
	struct seen seen = { .result = 1 };
	bool is_liar = process_lies(pid);

	assert_int_equal(find("findtest", pid, &seen), -ENOENT);
	assert_int_equal(seen.cnt, 0);
	process_end(pid);
	if (!is_liar) {
		print_message("no namespace of users\n");
		skip();
	}
}

static void file_put(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

CASE(finds_files_of_a_directory)
{
	struct seen seen = { 0 };
	char path[128];

	file_put("findtest.12", "twelve");
	file_put("findtest.9", "nine");
	file_put("findtest.x", "");
	file_put("findtest.", "");
	file_put("findtest.99999999999999999999", "");
	file_put("findtest-sdp.4", "");
	file_put("other.5", "five");
	assert_int_equal(find_file(dir, &seen), 0);
	assert_int_equal(seen.cnt, 2);
	assert_int_equal(seen.pid, 12);
	assert_true(seen.is_file);
	assert_string_equal(seen.text, "twelve");
	snprintf(path, sizeof(path), "%s/other.5", dir);
	seen = (struct seen){ .result = 1 };
	assert_int_equal(find_file(path, &seen), 0);
	assert_int_equal(seen.pid, 5);
	seen = (struct seen){ .result = -EPROTO };
	assert_int_equal(find_file(dir, &seen), -EPROTO);
	assert_int_equal(seen.cnt, 2);
	seen = (struct seen){ .result = -ENOMEM };
	assert_int_equal(find_file(dir, &seen), -ENOMEM);
	assert_int_equal(seen.cnt, 1);
	/* One that cannot be read, before the others. */
	snprintf(path, sizeof(path), "%s/findtest.3", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	seen = (struct seen){ 0 };
	assert_int_equal(find_file(dir, &seen), -EINVAL);
	assert_int_equal(seen.cnt, 2);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(find_file("/nonexistent/x", &seen), -ENOENT);
	assert_int_equal(find_file("/dev/null", &seen), -EINVAL);
}

ALL_CASES_WITH(setup, teardown);
