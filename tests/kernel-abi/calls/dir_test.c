/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Directory streams, scandir and glob over the tree. */
#define _GNU_SOURCE
#include "preloaded.h"

#include <dirent.h>
#include <glob.h>

#define CLASS "/sys/class/infiniband"

CASE(streams_name_every_entry_once)
{
	static const char *const names[] = { ".", "..", "usiw_lo",
					     "usiw_down0" };
	DIR *dir = opendir(CLASS);
	const struct dirent *entry;
	struct stat st;

	assert_non_null(dir);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		entry = readdir(dir);
		assert_non_null(entry);
		assert_string_equal(entry->d_name, names[i]);
		assert_int_equal(entry->d_type, DT_DIR);
		assert_int_equal(fstatat(dirfd(dir), entry->d_name, &st, 0), 0);
		if (i != 1) /* ".." is the real /sys/class */
			assert_int_equal(st.st_ino, entry->d_ino);
	}
	errno = EXDEV;
	assert_null(readdir(dir));
	assert_int_equal(errno, EXDEV);
	assert_int_equal(closedir(dir), 0);
}

CASE(readdir_returns_types)
{
	static const struct {
		const char *dir, *name;
		unsigned char type;
	} cases[] = {
		{ IBDEV, "ports", DT_DIR },
		{ IBDEV, "node_guid", DT_REG },
		{ IBDEV "/device/net", "lo", DT_LNK },
		{ "/dev/infiniband", "rdma_cm", DT_CHR },
		{ "/dev/infiniband", "uverbs1001", DT_CHR },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		DIR *dir = opendir(cases[i].dir);
		const struct dirent64 *entry;

		do {
			entry = readdir64(dir);
			assert_non_null(entry);
		} while (strcmp(entry->d_name, cases[i].name) != 0);
		assert_int_equal(entry->d_type, cases[i].type);
		closedir(dir);
	}
}

CASE(positions_can_be_told_and_sought)
{
	DIR *dir = opendir(CLASS);
	long second;

	assert_string_equal(readdir(dir)->d_name, ".");
	second = telldir(dir);
	assert_string_equal(readdir(dir)->d_name, "..");
	while (readdir(dir))
		;
	seekdir(dir, second);
	assert_string_equal(readdir(dir)->d_name, "..");
	assert_string_equal(readdir(dir)->d_name, "usiw_lo");
	rewinddir(dir);
	assert_string_equal(readdir(dir)->d_name, ".");
	closedir(dir);
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
CASE(reentrant_forms_fill_the_callers_entry)
{
	DIR *dir = opendir("/sys/class/misc/rdma_cm");
	struct dirent entry, *found;
	struct dirent64 entry64, *found64;

	assert_int_equal(readdir_r(dir, &entry, &found), 0);
	assert_ptr_equal(found, &entry);
	assert_string_equal(entry.d_name, ".");
	assert_int_equal(readdir64_r(dir, &entry64, &found64), 0);
	assert_string_equal(found64->d_name, "..");
	for (int i = 0; i < 3; i++)
		assert_int_equal(readdir_r(dir, &entry, &found), 0);
	assert_null(found);
	closedir(dir);
}

CASE(opened_directories_become_streams)
{
	int fd = open(IBDEV, O_RDONLY | O_DIRECTORY);
	int file = open(IBDEV "/fw_ver", O_RDONLY);
	DIR *dir = fdopendir(fd);

	assert_non_null(dir);
	assert_int_equal(dirfd(dir), fd);
	assert_string_equal(readdir(dir)->d_name, ".");
	assert_int_equal(closedir(dir), 0);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_null(fdopendir(file));
	assert_int_equal(errno, ENOTDIR);
	close(file);
	assert_null(opendir(IBDEV "/fw_ver"));
	assert_int_equal(errno, ENOTDIR);
	assert_null(opendir(IBDEV "/nothing"));
	assert_int_equal(errno, ENOENT);
}

CASE(foreign_streams_are_left_alone)
{
	DIR *dir = opendir("/proc/self");
	int cnt = 0;

	assert_non_null(dir);
	while (readdir(dir))
		cnt++;
	assert_true(cnt > 10);
	rewinddir(dir);
	assert_non_null(readdir64(dir));
	assert_true(dirfd(dir) >= 0);
	assert_int_equal(closedir(dir), 0);
}

CASE(running_out_of_streams_is_an_error)
{
	static DIR *dirs[1024];
	size_t cnt = 0;

	while (cnt < ARRAY_LEN(dirs) && (dirs[cnt] = opendir(CLASS)))
		cnt++;
	assert_true(cnt >= 128 && cnt < ARRAY_LEN(dirs));
	assert_int_equal(errno, EMFILE);
	while (cnt > 0)
		assert_int_equal(closedir(dirs[--cnt]), 0);
	dirs[0] = opendir(CLASS);
	assert_non_null(dirs[0]);
	closedir(dirs[0]);
}

static int no_dots(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void list_drop(struct dirent **list, int cnt)
{
	while (cnt > 0)
		free(list[--cnt]);
	free(list);
}

CASE(scandir_filters_and_sorts)
{
	struct dirent **list;
	struct dirent64 **list64;
	int at, cnt;

	cnt = scandir(CLASS, &list, no_dots, alphasort);
	assert_int_equal(cnt, 2);
	assert_string_equal(list[0]->d_name, "usiw_down0");
	assert_string_equal(list[1]->d_name, "usiw_lo");
	list_drop(list, cnt);
	cnt = scandir64(CLASS, &list64, NULL, NULL);
	assert_int_equal(cnt, 4);
	list_drop((void *)list64, cnt);
	at = open(IBDEV, O_RDONLY);
	cnt = scandirat(at, "ports", &list, no_dots, NULL);
	assert_int_equal(cnt, 1);
	assert_string_equal(list[0]->d_name, "1");
	list_drop(list, cnt);
	cnt = scandirat64(at, "ports", &list64, NULL, alphasort64);
	assert_int_equal(cnt, 3);
	list_drop((void *)list64, cnt);
	close(at);
	assert_int_equal(scandir(IBDEV "/nothing", &list, NULL, NULL), -1);
	assert_int_equal(errno, ENOENT);
}

CASE(glob_sees_the_tree)
{
	static const struct {
		const char *pattern, *first;
		size_t cnt;
		int ret;
	} cases[] = {
		{ CLASS "/*", IBDOWN, 2, 0 },
		{ CLASS "/*/ports/1/gids/[01]", IBDOWN "/ports/1/gids/0", 4,
		  0 },
		{ "/dev/infiniband/uverbs*", UVERBS, 2, 0 },
		{ CLASS "/x*", NULL, 0, GLOB_NOMATCH },
		{ "/dev/nul[l]", "/dev/null", 1, 0 },
	};
	glob_t found;
	glob64_t found64;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		memset(&found, 0, sizeof(found));
		assert_int_equal(glob(cases[i].pattern, 0, NULL, &found),
				 cases[i].ret);
		if (cases[i].ret)
			continue;
		assert_int_equal(found.gl_pathc, cases[i].cnt);
		assert_string_equal(found.gl_pathv[0], cases[i].first);
		globfree(&found);
	}
	memset(&found64, 0, sizeof(found64));
	assert_int_equal(glob64(CLASS "/*", 0, NULL, &found64), 0);
	assert_int_equal(found64.gl_pathc, 2);
	globfree64(&found64);
}

BEFORE_CASES()
{
	run_under_preload(argv);
}
