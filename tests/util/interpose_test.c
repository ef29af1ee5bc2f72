/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Finding the real functions behind stubs, and returning errors through
 * errno. */
#include "test.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "util/interpose.h"

extern int util_no_such_function(int arg);

#define REALS(X) X(getpid) X(util_no_such_function) X(close)

static struct reals {
	REALS(UTIL_REAL_FIELD)
} pointers;
static const char *const names[] = { REALS(UTIL_REAL_NAME) };
static struct util_reals table = { .pointers = &pointers,
				   .names = names,
				   .cnt = 3 };

/* A stub in this program: the table must find the function behind it. */
pid_t getpid(void)
{
	return -4711;
}

CASE(finds_what_is_behind_the_stub)
{
	const struct reals *reals = util_reals_get(&table);

	assert_int_equal(getpid(), -4711);
	assert_true(reals->getpid() > 0);
	assert_ptr_equal(reals, util_reals_get(&table));
}

CASE(leaves_unknown_names_null_and_errno_alone)
{
	errno = EXDEV;
	util_reals_fill(&table);
	assert_int_equal(errno, EXDEV);
	assert_null((void *)(uintptr_t)pointers.util_no_such_function);
	assert_int_equal(pointers.close(-1), -1);
}

/* The work of a stub. It changes errno, whatever its result. */
static long work(long ret)
{
	errno = EAGAIN;
	return ret;
}

CASE(only_a_failure_changes_errno)
{
	errno = EXDEV;
	assert_int_equal(UTIL_RESULT(work(0)), 0);
	assert_int_equal(UTIL_RESULT(work(1L << 40)), 1L << 40);
	assert_int_equal(errno, EXDEV);
	for (int err = 1; err < 134; err++) {
		assert_int_equal(UTIL_RESULT(work(-err)), -1);
		assert_int_equal(errno, err);
	}
}

CASE(names_the_directory_of_an_object)
{
	char dir[4096], self[4096] = "";

	assert_int_equal(
		util_object_dir((void *)(uintptr_t)&pointers, dir, sizeof(dir)),
		0);
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	assert_non_null(
		strstr(self, strrchr(dir, '/') ? strrchr(dir, '/') : dir));
	assert_int_equal(util_object_dir((void *)(uintptr_t)&pointers, dir, 2),
			 -ENAMETOOLONG);
	assert_int_equal(util_object_dir(NULL, dir, sizeof(dir)), -ENOENT);
}

CASE(finds_a_module_that_is_loaded)
{
	void *libc = util_loaded_module("libc.so.6");

	assert_non_null(libc);
	assert_ptr_equal(dlsym(libc, "getpid"), dlsym(RTLD_DEFAULT, "getpid"));
	assert_null(util_loaded_module("libusiw-is-not-loaded.so.0"));
}
