/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Which calls load the RNIC library, and which do not. */
#define _GNU_SOURCE
#include "preloaded.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/socket.h>

static int look_elsewhere(void)
{
	struct stat st;
	DIR *dir;

	if (stat("/sys/class/net/lo", &st) || stat("/dev/null", &st))
		return 1;
	dir = opendir("/sys/class");
	if (!dir)
		return 2;
	while (readdir(dir))
		;
	closedir(dir);
	access("/dev/infinite", F_OK);
	access("/sys/class/infini", F_OK);
	close(socket(AF_INET, SOCK_DGRAM, 0));
	return is_touched() ? 3 : 0;
}

static int look_at_ours(void)
{
	static const char *const paths[] = {
		"/sys/class/infiniband",
		"/dev/infiniband/rdma_cm",
		"/sys/class/infiniband_verbs/abi_version",
		"/sys/class/misc/rdma_cm",
	};
	struct stat st;

	errno = EXDEV;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (stat(paths[i], &st))
			return 1;
	if (errno != EXDEV)
		return 2;
	return is_touched() ? 0 : 3;
}

CASE(nothing_is_loaded_before_the_first_look)
{
	assert_false(is_touched());
	assert_int_equal(in_child(look_elsewhere), 0);
	assert_int_equal(in_child(look_at_ours), 0);
	assert_false(is_touched());
}

static void *look(void *barrier)
{
	struct stat st;
	long ret;

	pthread_barrier_wait(barrier);
	ret = stat(UVERBS, &st);
	return (void *)ret;
}

static int look_together(void)
{
	pthread_barrier_t barrier;
	pthread_t threads[4];
	void *ret;

	pthread_barrier_init(&barrier, NULL, 4);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, look, &barrier);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &ret);
		if (ret)
			return 1;
	}
	return 0;
}

CASE(threads_may_look_at_once)
{
	assert_int_equal(in_child(look_together), 0);
}

static int look_then_fork(void)
{
	if (look_at_ours())
		return 1;
	return in_child(look_at_ours) ? 2 : 0;
}

CASE(children_see_the_tree_too)
{
	assert_int_equal(in_child(look_then_fork), 0);
}

/* The preload library alone in its directory, without the RNIC library: it logs
 * that and continues. */
CASE(without_rnic_library_paths_are_foreign)
{
	char command[1024], line[512] = "";
	FILE *out;

	snprintf(command, sizeof(command),
		 "LD_PRELOAD='%s' ls /sys/class/infiniband /dev/null 2>&1",
		 KABI_TEST_ALONE);
	unsetenv("LD_PRELOAD");
	out = popen(command, "r");
	setenv("LD_PRELOAD", KABI_TEST_PRELOAD, 1);
	assert_non_null(out);
	assert_non_null(fgets(line, sizeof(line), out));
	assert_non_null(strstr(line, "usiw: kabi: error: cannot load the RNIC "
				     "library"));
	assert_non_null(strstr(line, "libusiw-rnic-"));
	while (fgets(line, sizeof(line), out))
		;
	assert_string_equal(line, "/dev/null\n");
	pclose(out);
}

BEFORE_CASES()
{
	run_under_preload(argv);
}
