/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Paths in every spelling: which of them lead into the tree. */
#define _GNU_SOURCE
#include "preloaded.h"

#include <limits.h>
#include <sys/sysmacros.h>

#define PCI "/sys/devices/pci7573:00/7573:03:1d.0"

#define OURS 1
#define REAL 2

static const struct path_case {
	const char *path;
	int err; /* 0, or the errno of stat() */
	int whose;
} cases[] = {
	{ "/sys/class/infiniband", 0, OURS },
	{ "/sys/class/infiniband/", 0, OURS },
	{ "/sys/class//infiniband//usiw_lo/./node_guid", 0, OURS },
	{ "/sys/class/infiniband/usiw_lo/../usiw_down0/fw_ver", 0, OURS },
	{ "/sys/class/infiniband/../infiniband_verbs/uverbs1000/dev", 0, OURS },
	{ "/sys/class/infiniband/../misc/rdma_cm/dev", 0, OURS },
	{ "/sys/class/infiniband_verbs/uverbs1001/device/net", 0, OURS },
	{ "/sys/class/infiniband_verbs/uverbs1001/device/..", 0, OURS },
	{ "/dev/infiniband/rdma_cm", 0, OURS },
	{ "/sys/class/infiniband/usiw_lo/node_guid/", ENOTDIR, OURS },
	{ "/sys/class/infiniband/usiw_lo/node_guid/x", ENOTDIR, OURS },
	{ "/sys/class/infiniband/usiw_lo/node_guid/..", ENOTDIR, OURS },
	{ "/dev/infiniband/rdma_cm/x", ENOTDIR, OURS },
	{ "/sys/class/infiniband/usiw_l", ENOENT, OURS },
	{ "/sys/class/infiniband/usiw_loo", ENOENT, OURS },
	{ "/sys/class/infiniband2", ENOENT, OURS },
	{ "/sys/class/misc/rdma_cm/", 0, OURS },
	{ PCI, 0, OURS },
	{ PCI "/net", 0, OURS },
	{ "/sys/devices/pci7573:00/", 0, OURS },
	{ "/sys/devices/pci7573:00/7573:00:00.0", ENOENT, OURS },
	/* out of the tree again */
	{ "/sys/class/infiniband/..", 0, REAL },
	{ "/sys/class/infiniband/../../..", 0, REAL },
	{ "/sys/class/infiniband/../../../", 0, REAL },
	{ "/sys/class/infiniband/../net/lo/mtu", 0, REAL },
	{ "/dev/infiniband/../null", 0, REAL },
	{ "/sys/class/infiniband/usiw_lo/device/net/lo", 0, REAL },
	{ "/sys/class/infiniband/usiw_lo/device/net/lo/", 0, REAL },
	{ "/sys/class/infiniband/usiw_lo/device/net//lo//mtu", 0, REAL },
	{ "/sys/class/infiniband/usiw_lo/device/net/lo/none", ENOENT, REAL },
	/* not in the tree */
	{ "/dev/infiniband_x", ENOENT, REAL },
	{ "/dev/infini", ENOENT, REAL },
	{ "/sys/class/net", 0, REAL },
	{ "/sys/cla", ENOENT, REAL },
	{ "/sys/devices/system", 0, REAL },
	{ "/sys/devices/pci7573:01", ENOENT, REAL },
	{ "/sys/devices/pci7573:00/../system", 0, REAL },
	{ "/sys", 0, REAL },
	{ "/", 0, REAL },
	{ "", ENOENT, REAL },
};

static bool is_ours(const struct stat *st)
{
	return st->st_dev == makedev(0, 0xfffff);
}

CASE(every_spelling_of_a_path_is_resolved)
{
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int ret = stat(cases[i].path, &st);
		int err = ret < 0 ? errno : 0;

		if (err != cases[i].err)
			fail_msg("%s: %s", cases[i].path, strerror(err));
		if (!err && is_ours(&st) != (cases[i].whose == OURS))
			fail_msg("%s: whose?", cases[i].path);
	}
}

CASE(directories_open_what_is_below_them)
{
	int at = open(IBDEV, O_RDONLY | O_DIRECTORY);
	struct stat st, same;
	int fd;

	assert_true(at >= 0);
	fd = openat(at, "ports/1/state", O_RDONLY);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(fstatat(at, "../usiw_down0", &st, 0), 0);
	assert_int_equal(stat(IBDOWN, &same), 0);
	assert_int_equal(st.st_ino, same.st_ino);
	assert_int_equal(fstatat(at, "", &st, AT_EMPTY_PATH), 0);
	assert_int_equal(fstatat(at, "", &same, 0), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(stat(IBDEV, &same), 0);
	assert_int_equal(st.st_ino, same.st_ino);
	assert_int_equal(faccessat(at, "device/net/lo/mtu", R_OK, 0), 0);
	assert_int_equal(faccessat(at, "/dev/null", R_OK, 0), 0);
	assert_int_equal(faccessat(at, "device/nothing", R_OK, 0), -1);
	close(at);
	assert_int_equal(fstatat(at, "ports", &st, 0), -1);
	assert_int_equal(errno, EBADF);
}

CASE(too_long_a_path_is_refused)
{
	static char path[PATH_MAX + 64];
	struct stat st;

	strcpy(path, IBDEV "/device/net/lo/");
	memset(path + strlen(path), 'x', PATH_MAX);
	assert_int_equal(stat(path, &st), -1);
	assert_int_equal(errno, ENAMETOOLONG);
}

CASE(realpath_names_the_node)
{
	static const struct {
		const char *path, *real;
	} links[] = {
		{ "/sys/class/infiniband/./usiw_lo//ports/../fw_ver",
		  IBDEV "/fw_ver" },
		{ "/sys/class/infiniband_verbs/uverbs1000/device", PCI },
		{ IBDEV "/device", PCI },
		{ IBDEV "/device/vendor", PCI "/vendor" },
		{ "/sys/class/infiniband_verbs/uverbs1000/device/../..",
		  "/sys/devices" },
		{ IBDEV "/device/infiniband/usiw_lo", IBDEV },
		{ UVERBS, UVERBS },
	};
	char real[PATH_MAX];

	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		assert_ptr_equal(realpath(links[i].path, real), real);
		assert_string_equal(real, links[i].real);
	}
}

BEFORE_CASES()
{
	run_under_preload(argv);
}
