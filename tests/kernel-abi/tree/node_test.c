/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Opening and inspecting nodes: flags, modes, read-only contents. */
#define _GNU_SOURCE
#include "preloaded.h"

#include "deny.h"

#include <dlfcn.h>
#include <sys/sysmacros.h>

CASE(open_flags_are_honoured)
{
	static const struct {
		const char *path;
		int flags, err;
	} cases[] = {
		{ IBDEV "/fw_ver", O_RDONLY, 0 },
		{ IBDEV "/fw_ver", O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0 },
		{ IBDEV "/fw_ver", O_RDONLY | O_NOFOLLOW, 0 },
		{ IBDEV "/fw_ver", O_WRONLY, EACCES },
		{ IBDEV "/fw_ver", O_RDWR, EACCES },
		{ IBDEV "/fw_ver", O_WRONLY | O_CREAT | O_TRUNC, EACCES },
		{ IBDEV "/fw_ver", O_RDONLY | O_CREAT | O_EXCL, EEXIST },
		{ IBDEV "/fw_ver", O_RDONLY | O_DIRECTORY, ENOTDIR },
		{ IBDEV, O_RDONLY, 0 },
		{ IBDEV, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0 },
		{ IBDEV, O_PATH, 0 },
		{ IBDEV, O_WRONLY, EISDIR },
		{ UVERBS, O_RDWR | O_CLOEXEC, 0 },
		{ UVERBS, O_RDONLY, 0 },
		{ UVERBS, O_RDWR | O_DIRECTORY, ENOTDIR },
		{ UCM, O_RDWR | O_CLOEXEC, 0 },
		{ IBDEV "/ports/1/gid_attrs/types/1", O_RDONLY, EINVAL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int fd = open(cases[i].path, cases[i].flags, 0600);

		if ((fd < 0 ? errno : 0) != cases[i].err)
			fail_msg("case %zu: %s", i, strerror(errno));
		if (fd < 0)
			continue;
		assert_int_equal(!(fcntl(fd, F_GETFD) & FD_CLOEXEC),
				 !(cases[i].flags & O_CLOEXEC));
		assert_int_equal(close(fd), 0);
	}
}

CASE(contents_can_be_read_and_not_changed)
{
	char text[64] = "";
	int fd = open(IBDEV "/node_type", O_RDONLY);

	assert_int_equal(read(fd, text, sizeof(text)), 8);
	assert_string_equal(text, "4: RNIC\n");
	assert_int_equal(read(fd, text, sizeof(text)), 0);
	assert_int_equal(lseek(fd, 3, SEEK_SET), 3);
	assert_int_equal(read(fd, text, 4), 4);
	assert_memory_equal(text, "RNIC", 4);
	assert_int_equal(write(fd, "x", 1), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(ftruncate(fd, 0), -1);
	close(fd);
}

CASE(each_opening_has_a_position_of_its_own)
{
	int one = open(IBDEV "/node_type", O_RDONLY);
	int other = open(IBDEV "/node_type", O_RDONLY);
	char octet;

	assert_int_equal(read(one, &octet, 1), 1);
	assert_int_equal(read(other, &octet, 1), 1);
	assert_int_equal(octet, '4');
	close(one);
	close(other);
}

CASE(stat_and_fstat_agree)
{
	static const struct {
		const char *path;
		mode_t mode;
		unsigned int major, minor;
	} cases[] = {
		{ IBDEV, S_IFDIR | 0755, 0, 0 },
		{ IBDEV "/fw_ver", S_IFREG | 0444, 0, 0 },
		{ UVERBS, S_IFCHR | 0666, 231, 1192 },
		{ "/dev/infiniband/uverbs1001", S_IFCHR | 0666, 231, 1193 },
		{ UCM, S_IFCHR | 0666, 10, 1000192 },
	};
	struct stat by_path, by_fd;
	struct statx stx;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int fd = open(cases[i].path, O_RDONLY);

		assert_int_equal(stat(cases[i].path, &by_path), 0);
		assert_int_equal(fstat(fd, &by_fd), 0);
		assert_memory_equal(&by_path, &by_fd, sizeof(by_fd));
		assert_int_equal(by_fd.st_mode, cases[i].mode);
		assert_int_equal(by_fd.st_rdev,
				 makedev(cases[i].major, cases[i].minor));
		assert_int_equal(
			statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stx),
			0);
		assert_int_equal(stx.stx_mode, by_fd.st_mode);
		assert_int_equal(stx.stx_ino, by_fd.st_ino);
		assert_int_equal(
			makedev(stx.stx_rdev_major, stx.stx_rdev_minor),
			by_fd.st_rdev);
		assert_int_equal(stx.stx_mtime.tv_sec, by_fd.st_mtime);
		close(fd);
	}
}

CASE(access_follows_the_modes)
{
	static const struct {
		const char *path;
		int mode, err;
	} cases[] = {
		{ IBDEV, F_OK, 0 },
		{ IBDEV, R_OK | X_OK, 0 },
		{ IBDEV, W_OK, EACCES },
		{ IBDEV "/fw_ver", R_OK, 0 },
		{ IBDEV "/fw_ver", W_OK, EACCES },
		{ IBDEV "/fw_ver", X_OK, EACCES },
		{ UVERBS, R_OK | W_OK, 0 },
		{ UVERBS, X_OK, EACCES },
		{ UCM, R_OK | W_OK, 0 },
		{ IBDEV, 64, EINVAL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int ret = access(cases[i].path, cases[i].mode);

		if ((ret < 0 ? errno : 0) != cases[i].err)
			fail_msg("case %zu: %s", i, strerror(errno));
	}
}

CASE(stdio_reads_and_refuses_to_write)
{
	static const char *const refused[] = { "w", "a", "r+", "w+e" };
	char text[64];
	FILE *file;

	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		assert_null(fopen(IBDEV "/fw_ver", refused[i]));
		assert_int_equal(errno, EACCES);
	}
	file = fopen("/dev/null", "re");
	file = freopen(IBDEV "/ports/1/link_layer", "re", file);
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	assert_string_equal(text, "Ethernet\n");
	fclose(file);
}

/* fclose() closes inside libc. The table must not keep the number. */
CASE(a_reused_number_belongs_to_the_new_file)
{
	struct stat st, null;
	FILE *file;
	int fd;

	fd = open(IBDEV "/fw_ver", O_RDONLY);
	file = fdopen(fd, "r");
	fclose(file);
	assert_int_equal(open("/dev/null", O_RDONLY), fd);
	assert_int_equal(stat("/dev/null", &null), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_rdev, null.st_rdev);
	close(fd);
}

static void traffic_add(uint64_t cnt)
{
	void *lib = dlopen(KABI_TEST_RNIC, RTLD_NOW | RTLD_NOLOAD), *sym;
	void (*add)(uint64_t cnt);

	assert_non_null(lib);
	sym = dlsym(lib, "fake_traffic_add");
	assert_non_null(sym);
	memcpy(&add, &sym, sizeof(add));
	add(cnt);
	dlclose(lib);
}

static uint64_t number_read(int fd)
{
	char said[32] = "";

	assert_true(read(fd, said, sizeof(said) - 1) > 0);
	return strtoull(said, NULL, 10);
}

/* Programs watch counters in this way: they keep one descriptor and read it
 * again from its beginning, possibly after an early lseek(). */
CASE(a_file_read_again_has_current_content)
{
	int fd = open(IBDOWN "/ports/1/counters/port_xmit_packets",
		      O_RDONLY | O_CLOEXEC);
	uint64_t first;
	char octet;

	first = number_read(fd);
	assert_int_equal(read(fd, &octet, 1), 0); /* end of file */
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	for (int i = 1; i < 3; i++) {
		traffic_add(5);
		assert_int_equal(number_read(fd), first + 5 * (uint64_t)i);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	}
	/* in the middle the content does not change */
	assert_int_equal(read(fd, &octet, 1), 1);
	traffic_add(90000);
	assert_int_equal(number_read(fd), (first + 10) % 1000);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	/* opened before the change, read after it */
	fd = open(IBDOWN "/ports/1/hw_counters/sent_pkts", O_RDONLY);
	traffic_add(1);
	assert_int_equal(number_read(fd), first + 90011);
	assert_int_equal(fcntl(fd, F_GETFD), 0);
	close(fd);
}

/* The file cannot be created. One line logs why, and everything else works. */
static int open_without_memfd(void)
{
	char text[1024];
	int said[2], fd;
	ssize_t len;

	if (pipe2(said, O_NONBLOCK) || dup2(said[1], STDERR_FILENO) < 0 ||
	    !deny_call(SYS_memfd_create, EPERM))
		return 77;
	for (int i = 0; i < 2; i++)
		if (open(IBDEV "/fw_ver", O_RDONLY) != -1 || errno != EPERM)
			return 1;
	len = read(said[0], text, sizeof(text) - 1);
	if (len <= 0)
		return 2;
	text[len] = '\0';
	if (!strstr(text, "memfd_create() fails: Operation not permitted") ||
	    !strstr(text, "allow this call to the program") ||
	    strchr(text, '\n') != text + len - 1)
		return 3;
	fd = open(IBDEV, O_RDONLY | O_DIRECTORY);
	return fd < 0 ? 4 : 0;
}

CASE(a_denied_memfd_create_is_reported_once)
{
	assert_in_filtered_child(open_without_memfd);
}

BEFORE_CASES()
{
	run_under_preload(argv);
}
