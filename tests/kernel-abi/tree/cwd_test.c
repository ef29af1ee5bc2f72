/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A current directory inside the tree: relative paths, entering and leaving
 * it. */
#define _GNU_SOURCE
#include "preloaded.h"

#include <dirent.h>
#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <sys/syscall.h>

#define CLASS "/sys/class/infiniband"

static char text[PATH_MAX];

static void cwd_is(const char *path)
{
	if (!getcwd(text, sizeof(text)) || strcmp(text, path) != 0)
		fail_msg("in %s, wanted %s", text, path);
}

static int chdir_err(const char *path)
{
	return chdir(path) < 0 ? -errno : 0;
}

static bool file_says(const char *path, const char *want)
{
	char said[64] = "";
	int fd = open(path, O_RDONLY);

	if (fd < 0 || read(fd, said, sizeof(said) - 1) < 0)
		return false;
	close(fd);
	return strcmp(said, want) == 0;
}

static int go_home(void **state)
{
	return chdir("/");
}

CASE_WITH(relative_paths_begin_there, NULL, go_home)
{
	struct dirent **list = NULL;
	struct stat st, same;
	glob_t found;
	FILE *file;
	DIR *dir;
	int cnt;

	assert_int_equal(chdir(IBDEV), 0);
	assert_true(file_says("node_type", "4: RNIC\n"));
	assert_true(file_says("./ports/../ports/1/state", "4: ACTIVE\n"));
	assert_true(file_says("../usiw_down0/ports/1/state", "1: DOWN\n"));
	assert_true(file_says("device/net/lo/ifindex", "1\n"));
	assert_int_equal(stat("../../net/lo/mtu", &st), 0);
	assert_int_equal(access("ports", R_OK), 0);
	assert_int_equal(stat(".", &st), 0);
	assert_int_equal(stat(IBDEV, &same), 0);
	assert_int_equal(st.st_ino, same.st_ino);
	assert_int_equal(fstatat(AT_FDCWD, "", &st, AT_EMPTY_PATH), 0);
	assert_int_equal(st.st_ino, same.st_ino);
	assert_int_equal(stat("", &st), -1);
	assert_int_equal(errno, ENOENT);
	file = fopen("node_desc", "r");
	assert_non_null(file);
	fclose(file);
	assert_ptr_equal(realpath("ports/1", text), text);
	assert_string_equal(text, IBDEV "/ports/1");
	dir = opendir(".");
	assert_non_null(dir);
	for (cnt = 0; readdir(dir); cnt++)
		;
	closedir(dir);
	assert_int_equal(scandir(".", &list, NULL, alphasort), cnt);
	while (cnt > 0)
		free(list[--cnt]);
	free(list);
	assert_int_equal(glob("node_*", 0, NULL, &found), 0);
	assert_int_equal(found.gl_pathc, 3); /* type, guid, desc */
	globfree(&found);
}

/* A failed call leaves the current directory unchanged. */
CASE_WITH(failed_calls_change_nothing, NULL, go_home)
{
	static const struct {
		const char *path;
		int err;
	} cases[] = {
		{ "nothing", -ENOENT },
		{ "node_type", -ENOTDIR },
		{ IBDEV "/node_type", -ENOTDIR },
		{ CLASS "/mlx5_0", -ENOENT },
		{ "", -ENOENT },
		{ "/proc/no-such-directory", -ENOENT },
	};
	struct stat st;

	assert_int_equal(chdir(IBDEV), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(chdir_err(cases[i].path), cases[i].err);
		cwd_is(IBDEV);
	}
	assert_int_equal(stat("nothing", &st), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(open("new", O_WRONLY | O_CREAT, 0600), -1);
	/* calls without a stub; for root too */
	assert_int_equal(mkdir("new", 0700), -1);
	assert_int_equal(unlink("node_type"), -1);
	assert_int_equal(rename("node_type", "new"), -1);
}

CASE_WITH(chdir_enters_and_leaves_the_tree, NULL, go_home)
{
	int ours = open(CLASS, O_RDONLY | O_DIRECTORY);
	int real = open("/proc/self", O_RDONLY | O_DIRECTORY);
	int file = open(IBDEV "/fw_ver", O_RDONLY);

	assert_int_equal(chdir(IBDEV "/ports"), 0);
	assert_int_equal(chdir("1/gids"), 0);
	cwd_is(IBDEV "/ports/1/gids");
	assert_int_equal(chdir(".."), 0);
	cwd_is(IBDEV "/ports/1");
	assert_int_equal(chdir("../../../../net"), 0);
	cwd_is("/sys/class/net");
	assert_int_equal(access("lo", F_OK), 0);
	/* the kernel does not have this directory: the result is that of a
	 * machine without device */
	assert_int_equal(chdir("/sys/class"), 0);
	cwd_is("/sys/class");
	assert_int_equal(fchdir(ours), 0);
	cwd_is(CLASS);
	assert_int_equal(fchdir(file), -1);
	assert_int_equal(errno, ENOTDIR);
	cwd_is(CLASS);
	assert_int_equal(fchdir(real), 0);
	assert_int_equal(access("status", R_OK), 0);
	assert_int_equal(chdir("/dev/infiniband"), 0);
	assert_int_equal(access("rdma_cm", R_OK), 0);
	assert_int_equal(chdir("/"), 0);
	cwd_is("/");
	close(ours);
	close(real);
	close(file);
}

CASE_WITH(every_getcwd_returns_it, NULL, go_home)
{
	char *(*getcwd_chk)(char *, size_t, size_t) =
		dlsym(RTLD_DEFAULT, "__getcwd_chk");
	char *(*getwd_chk)(char *, size_t) = dlsym(RTLD_DEFAULT, "__getwd_chk");
	char *(*getwd_plain)(char *) = dlsym(RTLD_DEFAULT, "getwd");
	char *own;

	assert_int_equal(chdir(CLASS), 0);
	assert_string_equal(getcwd_chk(text, sizeof(text), sizeof(text)),
			    CLASS);
	assert_string_equal(getwd_chk(text, sizeof(text)), CLASS);
	assert_string_equal(getwd_plain(text), CLASS);
	own = getcwd(NULL, 0);
	assert_string_equal(own, CLASS);
	free(own);
	own = get_current_dir_name();
	assert_string_equal(own, CLASS);
	free(own);
	assert_string_equal(getcwd(text, sizeof(CLASS)), CLASS);
	assert_null(getcwd(text, sizeof(CLASS) - 1));
	assert_int_equal(errno, ERANGE);
	assert_null(getcwd(text, 0));
	assert_int_equal(errno, EINVAL);
}

static int child_moves(void)
{
	if (!file_says("node_type", "4: RNIC\n") || chdir("ports") < 0 ||
	    !file_says("1/state", "4: ACTIVE\n"))
		return 1;
	return chdir("/") < 0 || access("proc", F_OK) < 0;
}

CASE_WITH(a_forked_child_has_its_own, NULL, go_home)
{
	assert_int_equal(chdir(IBDEV), 0);
	assert_int_equal(in_child(child_moves), 0);
	cwd_is(IBDEV);
}

/* Results of the child of vfork(). They work only with shared memory, which
 * TSan does not provide. */
static volatile int vforked_into_tree, vforked_out;

/* Only the current directory of the child changes. */
CASE_WITH(a_vforked_child_moves_only_itself, NULL, go_home)
{
	int status;
	pid_t pid;

	assert_int_equal(chdir(IBDEV), 0);
	vforked_into_tree = vforked_out = -ENOENT;
	pid = vfork();
	if (pid == 0) {
		vforked_out = chdir_err("/proc");
		vforked_into_tree = chdir_err(CLASS);
		_exit(vforked_out);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(vforked_into_tree, -ENOENT);
	cwd_is(IBDEV);
	assert_true(file_says("node_type", "4: RNIC\n"));
}

CASE_WITH(programs_start_in_the_same_directory, NULL, go_home)
{
	assert_int_equal(setenv("PWD", "/", 1), 0);
	assert_int_equal(chdir(IBDEV), 0);
	assert_int_equal(system("test \"$(/bin/pwd)\" = " IBDEV
				" && grep -q RNIC node_type"),
			 0);
	/* outside the tree again: children get the real directory */
	assert_int_equal(chdir("/sys/class"), 0);
	assert_int_equal(system("test \"$(/bin/pwd)\" = /sys/class && "
				"test -d net"),
			 0);
	/* PWD alone is not sufficient */
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(setenv("PWD", IBDEV, 1), 0);
	assert_int_equal(system("test \"$(/bin/pwd)\" = /"), 0);
}

BEFORE_CASES()
{
	run_under_preload(argv);
}
