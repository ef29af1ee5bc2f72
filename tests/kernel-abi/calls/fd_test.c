/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Descriptors: duplicates, all ways to close them, fork and vfork. */
#define _GNU_SOURCE
#include "preloaded.h"

#include <dirent.h>
#include <linux/close_range.h>
#include <poll.h>
#include <rdma/ib_user_verbs.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

static int uverbs_open(void)
{
	int fd = open(UVERBS, O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* Return: the new channel; -1 with errno. */
static int channel_open(int fd)
{
	struct ib_uverbs_create_comp_channel_resp resp;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_create_comp_channel cmd;
	} command = { { IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, 4, 1 },
		      { (uintptr_t)&resp } };

	if (write(fd, &command, sizeof(command)) < 0)
		return -1;
	return (int)resp.fd;
}

static bool is_uverbs(int fd)
{
	int chan = channel_open(fd);
	struct stat st;

	if (chan < 0 || close(chan) < 0)
		return false;
	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode);
}

/* Whether the kernel has it open, independent of the preload library. */
static bool is_open(int fd)
{
	return syscall(SYS_fcntl, fd, F_GETFD) >= 0;
}

/* Finds the internal descriptor of the fake RNIC. */
static int internal_find(void)
{
	for (int fd = 3; fd < 64; fd++)
		if (is_open(fd) && close(fd) == -1 && errno == EBADF)
			return fd;
	return -1;
}

static int dup_by_dup(int fd)
{
	return dup(fd);
}

static int dup_by_dup2(int fd)
{
	return dup2(fd, 40);
}

static int dup_by_dup3(int fd)
{
	return dup3(fd, 41, O_CLOEXEC);
}

static int dup_by_fcntl(int fd)
{
	return fcntl(fd, F_DUPFD, 42);
}

static int dup_by_fcntl_cloexec(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, 43);
}

static int (*const dups[])(int fd) = { dup_by_dup, dup_by_dup2, dup_by_dup3,
				       dup_by_fcntl, dup_by_fcntl_cloexec };

CASE(duplicates_work_in_any_order_of_close)
{
	for (size_t i = 0; i < ARRAY_LEN(dups); i++) {
		for (int first = 0; first < 2; first++) {
			int fd[2] = { uverbs_open(), -1 };

			fd[1] = dups[i](fd[0]);
			assert_true(fd[1] >= 0 && fd[1] != fd[0]);
			assert_true(is_uverbs(fd[0]) && is_uverbs(fd[1]));
			assert_int_equal(close(fd[first]), 0);
			assert_int_equal(write(fd[first], "", 1), -1);
			assert_true(is_uverbs(fd[!first]));
			assert_int_equal(close(fd[!first]), 0);
			assert_false(is_open(fd[0]) || is_open(fd[1]));
		}
	}
	assert_int_equal(fcntl(42, F_GETFD), -1);
}

CASE(duplicated_channels_share_their_events)
{
	const uint64_t two = 2;
	int fd = uverbs_open();
	int chan = channel_open(fd), other = dup(chan);
	unsigned char event[8];

	assert_int_equal(syscall(SYS_write, chan, &two, 8), 8);
	assert_int_equal(read(other, event, 8), 8);
	assert_int_equal(close(chan), 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(read(other, event, 8), 8);
	assert_int_equal(event[7], 0x55);
	assert_int_equal(close(other), 0);
	assert_false(is_open(chan) || is_open(other));
}

CASE(dup2_replaces_what_was_there)
{
	int fd = uverbs_open(), null = open("/dev/null", O_RDWR);
	int other = uverbs_open();

	assert_int_equal(dup2(fd, fd), fd);
	assert_int_equal(dup3(fd, fd, 0), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(dup2(999, other), -1);
	assert_int_equal(errno, EBADF);
	assert_true(is_uverbs(other));
	assert_int_equal(dup2(fd, null), null);
	assert_true(is_uverbs(null));
	assert_int_equal(close(null), 0);
	null = open("/dev/null", O_RDWR);
	assert_int_equal(dup2(null, other), other);
	assert_int_equal(write(other, "x", 1), 1);
	assert_int_equal(close(other) | close(null) | close(fd), 0);
}

/* dup2() over the first of several numbers of an object is nothing special. */
CASE(dup2_replaces_the_first_of_several_numbers)
{
	int fd = uverbs_open(), chan = channel_open(fd);
	int other = dup(fd), chan_other = dup(chan);
	int null = open("/dev/null", O_RDWR);
	const uint64_t one = 1;

	assert_int_equal(dup2(null, fd), fd);
	assert_int_equal(dup2(null, chan), chan);
	assert_true(is_uverbs(other));
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(syscall(SYS_write, chan_other, &one, 8), 8);
	assert_int_equal(read(chan_other, (char[8]){ 0 }, 8), 8);
	assert_int_equal(read(chan, (char[8]){ 0 }, 8), 0);
	assert_int_equal(close(fd) | close(chan) | close(null), 0);
	assert_int_equal(close(other) | close(chan_other), 0);
}

CASE(internal_descriptors_are_out_of_reach)
{
	int fd = uverbs_open(), internal = internal_find();

	assert_true(internal >= 0);
	fd = uverbs_open(); /* the search closed everything else */
	assert_int_equal(close(internal), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(dup2(fd, internal), -1);
	assert_int_equal(errno, EBUSY);
	assert_true(is_open(internal));
	assert_int_equal(close(fd), 0);
}

CASE(ranges_spare_the_internal_ones)
{
	int fd = uverbs_open(), dir = open(IBDEV, O_RDONLY);
	int null = open("/dev/null", O_RDONLY), internal;

	assert_int_equal(close_range(3, ~0u, CLOSE_RANGE_CLOEXEC), 0);
	assert_true(is_open(fd) && is_open(dir) && is_open(null));
	assert_int_equal(close_range(5, 4, 0), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(close_range(3, ~0u, 0), 0);
	assert_false(is_open(fd) || is_open(dir) || is_open(null));
	internal = internal_find();
	assert_true(internal >= 3);
	fd = uverbs_open();
	assert_true(is_uverbs(fd));
	closefrom(3);
	assert_false(is_open(fd));
	assert_true(is_open(internal));
	fd = uverbs_open();
	assert_true(is_uverbs(fd));
	close(fd);
}

CASE(directories_refuse_what_they_are_not)
{
	int dir = open(IBDEV, O_RDONLY), other = dup(dir);
	char octet;

	assert_int_equal(read(dir, &octet, 1), -1);
	assert_int_equal(errno, EISDIR);
	assert_int_equal(unlinkat(dir, "fw_ver", 0), -1);
	assert_int_equal(mkdirat(dir, "new", 0700), -1);
	close(dir);
	assert_int_equal(faccessat(other, "fw_ver", R_OK, 0), 0);
	close(other);
}

CASE(ucm_file_opens_and_closes)
{
	int fd = open(UCM, O_RDWR | O_CLOEXEC), other;
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(poll(&poll_fd, 1, 0), 0);
	other = dup(fd);
	assert_int_equal(close(fd), 0);
	assert_int_equal(fstat(other, &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(close(other), 0);
	assert_false(is_open(fd) || is_open(other));
}

/* ---- fork ---- */

static int inherited_fd, inherited_chan, inherited_dir;

static int use_inherited(void)
{
	char buf[16] = "";
	int fd;

	if (!is_uverbs(inherited_fd))
		return 1;
	if (read(inherited_chan, buf, 8) != -1 || errno != ENODEV)
		return 2;
	if (ioctl(inherited_chan, 0, buf) != -1 || errno != ENODEV)
		return 3;
	if (dup(inherited_fd) < 0)
		return 4;
	if (close(inherited_fd) || close(inherited_chan))
		return 5;
	/* the tree belongs to every process */
	if (faccessat(inherited_dir, "fw_ver", R_OK, 0))
		return 6;
	fd = open(UVERBS, O_RDWR);
	if (fd < 0 || channel_open(fd) < 0)
		return 7;
	return close(fd) ? 8 : 0;
}

CASE(children_use_the_file_and_not_its_channels)
{
	inherited_fd = uverbs_open();
	inherited_chan = channel_open(inherited_fd);
	inherited_dir = open(IBDEV, O_RDONLY);
	assert_int_equal(in_child(use_inherited), 0);
	assert_true(is_uverbs(inherited_fd));
	close(inherited_chan);
	close(inherited_dir);
	close(inherited_fd);
}

/* CPython's subprocess closes all descriptors in this way before exec. */
CASE(vfork_children_close_their_own_only)
{
	int fd = uverbs_open(), chan = channel_open(fd);
	int dir = open(IBDEV, O_RDONLY);
	int internal, status;
	pid_t pid;

	pid = vfork();
	if (pid == 0) {
		close(chan);
		dup2(STDIN_FILENO, dir);
		close_range(3, ~0u, 0);
		close(fd);
		_exit(is_open(fd));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(is_uverbs(fd));
	assert_int_equal(fcntl(chan, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(read(chan, (char[8]){ 0 }, 8), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(faccessat(dir, "fw_ver", R_OK, 0), 0);
	assert_int_equal(close(chan) | close(dir) | close(fd), 0);
	internal = internal_find();
	assert_true(internal >= 0);
}

BEFORE_CASES()
{
	run_under_preload(argv);
}
