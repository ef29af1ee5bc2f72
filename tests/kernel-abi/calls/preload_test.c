/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Every wrapped call on paths inside the tree, outside of it, and of
 * nothing. */
#define _GNU_SOURCE
#include "preloaded.h"

#include <dirent.h>
#include <dlfcn.h>
#include <glob.h>
#include <sys/xattr.h>

#define FILE_OURS IBDEV "/node_type"
#define FILE_GONE IBDEV "/nothing"
#define FILE_FOREIGN "/proc/self/status"
#define LINK_OURS IBDEV "/device/net/lo"

/* Each row: the result of a call on a path: 0 or more, or minus errno. */
static long done(long ret)
{
	return ret < 0 ? -errno : ret;
}

static long done_fd(int fd)
{
	char octet;

	if (fd < 0)
		return -errno;
	if (read(fd, &octet, 1) != 1)
		return -EIO;
	return close(fd);
}

static long done_file(FILE *file)
{
	int got;

	if (!file)
		return -errno;
	got = fgetc(file);
	fclose(file);
	return got == EOF ? -EIO : 0;
}

static long done_text(char *text)
{
	if (!text)
		return -errno;
	free(text);
	return 0;
}

/* Functions that no header declares for this program. */
static void *sym(const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	if (!found)
		fail_msg("no %s", name);
	return found;
}

#define CALL(name, expr)                                                       \
	static long do_##name(const char *path)                                \
	{                                                                      \
		return expr;                                                   \
	}

CALL(open, done_fd(open(path, O_RDONLY)))
CALL(open64, done_fd(open64(path, O_RDONLY)))
CALL(openat, done_fd(openat(AT_FDCWD, path, O_RDONLY)))
CALL(openat64, done_fd(openat64(AT_FDCWD, path, O_RDONLY)))
CALL(open_2, done_fd(((int (*)(const char *, int))sym("__open_2"))(path, 0)))
CALL(open64_2,
     done_fd(((int (*)(const char *, int))sym("__open64_2"))(path, 0)))
CALL(openat_2, done_fd(((int (*)(int, const char *,
				 int))sym("__openat_2"))(AT_FDCWD, path, 0)))
CALL(openat64_2,
     done_fd(((int (*)(int, const char *, int))sym("__openat64_2"))(AT_FDCWD,
								    path, 0)))
CALL(fopen, done_file(fopen(path, "r")))
CALL(fopen64, done_file(fopen64(path, "re")))

static long do_freopen(const char *path)
{
	FILE *file = fopen("/dev/null", "r");

	return done_file(freopen(path, "r", file));
}

static long do_freopen64(const char *path)
{
	FILE *file = fopen("/dev/null", "r");

	return done_file(freopen64(path, "r", file));
}

static struct stat st;
static struct stat64 st64;
static struct statx stx;
static char text[4096];

typedef int (*xstat_fn)(int ver, const char *path, void *buf);
typedef int (*xstatat_fn)(int ver, int at, const char *path, void *buf,
			  int flags);

CALL(stat, done(stat(path, &st)))
CALL(stat64, done(stat64(path, &st64)))
CALL(lstat, done(lstat(path, &st)))
CALL(lstat64, done(lstat64(path, &st64)))
CALL(fstatat, done(fstatat(AT_FDCWD, path, &st, 0)))
CALL(fstatat64, done(fstatat64(AT_FDCWD, path, &st64, 0)))
CALL(statx, done(statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &stx)))
CALL(xstat, done(((xstat_fn)sym("__xstat"))(1, path, &st)))
CALL(xstat64, done(((xstat_fn)sym("__xstat64"))(1, path, &st64)))
CALL(lxstat, done(((xstat_fn)sym("__lxstat"))(1, path, &st)))
CALL(lxstat64, done(((xstat_fn)sym("__lxstat64"))(1, path, &st64)))
CALL(fxstatat, done(((xstatat_fn)sym("__fxstatat"))(1, AT_FDCWD, path, &st, 0)))
CALL(fxstatat64,
     done(((xstatat_fn)sym("__fxstatat64"))(1, AT_FDCWD, path, &st64, 0)))
CALL(access, done(access(path, R_OK)))
CALL(eaccess, done(eaccess(path, R_OK)))
CALL(euidaccess, done(euidaccess(path, R_OK)))
CALL(faccessat, done(faccessat(AT_FDCWD, path, R_OK, 0)))
CALL(realpath, done_text(realpath(path, NULL)))
CALL(realpath_buf, realpath(path, text) == text ? 0 : -errno)
CALL(realpath_chk, ((char *(*)(const char *, char *, size_t))sym(
			   "__realpath_chk"))(path, text, sizeof(text)) == text
			   ? 0
			   : -errno)
CALL(canonicalize, done_text(canonicalize_file_name(path)))

#define ROW(name) { #name, do_##name }

static const struct path_call {
	const char *name;
	long (*call)(const char *path);
} file_calls[] = {
	ROW(open),	   ROW(open64),	   ROW(openat),	      ROW(openat64),
	ROW(open_2),	   ROW(open64_2),  ROW(openat_2),     ROW(openat64_2),
	ROW(fopen),	   ROW(fopen64),   ROW(freopen),      ROW(freopen64),
	ROW(stat),	   ROW(stat64),	   ROW(lstat),	      ROW(lstat64),
	ROW(fstatat),	   ROW(fstatat64), ROW(statx),	      ROW(xstat),
	ROW(xstat64),	   ROW(lxstat),	   ROW(lxstat64),     ROW(fxstatat),
	ROW(fxstatat64),   ROW(access),	   ROW(eaccess),      ROW(euidaccess),
	ROW(faccessat),	   ROW(realpath),  ROW(realpath_buf), ROW(realpath_chk),
	ROW(canonicalize),
};

CASE(calls_find_files_of_the_tree)
{
	for (size_t i = 0; i < ARRAY_LEN(file_calls); i++) {
		long ret = file_calls[i].call(FILE_OURS);

		if (ret != 0)
			fail_msg("%s: %ld", file_calls[i].name, ret);
	}
}

CASE(calls_fail_for_missing_files_of_the_tree)
{
	static const char *const paths[] = {
		FILE_GONE,
		IBDEV "/ports/2",
		"/dev/infiniband/uverbs0",
		"/sys/class/infiniband/mlx5_0/node_guid",
		"/sys/class/infiniband_mad/abi_version",
		"/sys/class/misc/rdma_cm/nothing",
	};

	for (size_t i = 0; i < ARRAY_LEN(file_calls); i++)
		for (size_t p = 0; p < ARRAY_LEN(paths); p++) {
			long ret = file_calls[i].call(paths[p]);

			if (ret != -ENOENT)
				fail_msg("%s %s: %ld", file_calls[i].name,
					 paths[p], ret);
		}
}

CASE(calls_pass_foreign_paths)
{
	for (size_t i = 0; i < ARRAY_LEN(file_calls); i++) {
		if (file_calls[i].call(FILE_FOREIGN) != 0)
			fail_msg("%s", file_calls[i].name);
		if (file_calls[i].call("/sys/class/no-such-class") != -ENOENT)
			fail_msg("%s", file_calls[i].name);
	}
}

/* By name, because the headers declare that these paths are never NULL. */
CASE(null_paths_go_to_the_kernel)
{
	int (*open_null)(const char *, int) = sym("open");
	int (*stat_null)(const char *, void *) = sym("stat");

	assert_int_equal(done(open_null(NULL, O_RDONLY)), -EFAULT);
	assert_int_equal(done(stat_null(NULL, &st)), -EFAULT);
}

typedef ssize_t (*readlink_chk_fn)(const char *, char *, size_t, size_t);
typedef ssize_t (*readlinkat_chk_fn)(int, const char *, char *, size_t, size_t);

CALL(readlink, done(readlink(path, text, sizeof(text))))
CALL(readlinkat, done(readlinkat(AT_FDCWD, path, text, sizeof(text))))
CALL(readlink_chk,
     done(((readlink_chk_fn)sym("__readlink_chk"))(path, text, sizeof(text),
						   sizeof(text))))
CALL(readlinkat_chk, done(((readlinkat_chk_fn)sym("__readlinkat_chk"))(
			     AT_FDCWD, path, text, sizeof(text), sizeof(text))))

CASE(links_are_read_and_followed)
{
	static const struct path_call calls[] = {
		ROW(readlink),
		ROW(readlinkat),
		ROW(readlink_chk),
		ROW(readlinkat_chk),
	};
	static const char target[] = "/sys/class/net/lo";

	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		memset(text, 0, sizeof(text));
		if (calls[i].call(LINK_OURS) != (long)strlen(target) ||
		    strcmp(text, target) != 0)
			fail_msg("%s: %s", calls[i].name, text);
		if (calls[i].call(FILE_OURS) != -EINVAL)
			fail_msg("%s", calls[i].name);
	}
	assert_int_equal(readlink(LINK_OURS, text, 4), 4);
	assert_int_equal(lstat(LINK_OURS, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	/* through the link, out of the tree, into the real directory */
	assert_int_equal(do_open(LINK_OURS "/mtu"), 0);
	assert_int_equal(stat(LINK_OURS "/mtu", &st), 0);
	assert_int_equal(open(LINK_OURS, O_RDONLY | O_NOFOLLOW), -1);
	assert_int_equal(errno, ELOOP);
}

CASE(tree_has_no_extended_attributes)
{
	assert_int_equal(done(getxattr(IBDEV, "user.x", text, 8)), -ENOTSUP);
	assert_int_equal(done(lgetxattr(IBDEV, "user.x", text, 8)), -ENOTSUP);
	assert_int_equal(done(listxattr(IBDEV, text, 8)), -ENOTSUP);
	assert_int_equal(done(llistxattr(IBDEV, text, 8)), -ENOTSUP);
	assert_int_equal(done(getxattr(FILE_GONE, "user.x", text, 8)), -ENOENT);
}

BEFORE_CASES()
{
	run_under_preload(argv);
}
