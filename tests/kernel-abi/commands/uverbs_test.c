/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The uverbs file: the command that libibverbs sends, and all that are
 * refused. */
#define _GNU_SOURCE
#include "preloaded.h"

#include "deny.h"

#include <poll.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

struct command {
	struct ib_uverbs_cmd_hdr hdr;
	struct ib_uverbs_create_comp_channel cmd;
};

static struct ib_uverbs_create_comp_channel_resp resp;

static struct command comp_channel_command(void)
{
	return (struct command){
		.hdr = { .command = IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL,
			 .in_words = sizeof(struct command) / 4,
			 .out_words = sizeof(resp) / 4 },
		.cmd = { .response = (uintptr_t)&resp },
	};
}

static int uverbs_open(void)
{
	int fd = open(UVERBS, O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static int channel_open(int fd)
{
	struct command command = comp_channel_command();

	resp.fd = ~0u;
	assert_int_equal(write(fd, &command, sizeof(command)), sizeof(command));
	return (int)resp.fd;
}

/* The fake RNIC's channel: a write to its eventfd is an event. */
static void event_make(int chan)
{
	const uint64_t one = 1;
	char path[64];
	int fd;

	/* not through the preload library, which refuses to write to a
	 * channel */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", chan);
	fd = open(path, O_RDWR);
	if (fd < 0)
		fd = chan;
	assert_int_equal(syscall(SYS_write, fd, &one, sizeof(one)),
			 sizeof(one));
	if (fd != chan)
		close(fd);
}

CASE(channels_yield_events)
{
	int fd = uverbs_open(), chan = channel_open(fd);
	struct pollfd poll_fd = { .fd = chan, .events = POLLIN };
	unsigned char event[8], want[8];

	memset(want, 0x55, sizeof(want));
	assert_true(fcntl(chan, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(poll(&poll_fd, 1, 0), 0);
	event_make(chan);
	assert_int_equal(poll(&poll_fd, 1, 0), 1);
	assert_int_equal(read(chan, event, 4), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(read(chan, event, sizeof(event)), sizeof(event));
	assert_memory_equal(event, want, sizeof(want));
	assert_int_equal(fcntl(chan, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(read(chan, event, sizeof(event)), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(write(chan, event, sizeof(event)), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(close(chan), 0);
	assert_int_equal(fcntl(chan, F_GETFD), -1);
	close(fd);
}

/* A page followed by an unmapped one. */
static uint8_t *page_with_an_end(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *pages = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(pages != MAP_FAILED);
	assert_int_equal(munmap(pages + size, size), 0);
	return pages;
}

/* An invalid address gives an errno, and nothing stays open. */
CASE(bad_addresses_are_refused)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	struct command command = comp_channel_command();
	uint8_t *page = page_with_an_end();
	const void *const sources[] = { NULL, page + size - 4,
					page + size - sizeof(command) + 4,
					page + size, (void *)UINTPTR_MAX };
	const uint64_t answers[] = { 0, (uintptr_t)page + size - 2,
				     (uintptr_t)page + size, UINT64_MAX,
				     UINT64_C(0xdead000000000000) };
	int fd = uverbs_open(), next;

	next = dup(fd);
	close(next);
	memcpy(page + size - 4, &command, 4);
	memcpy(page + size - sizeof(command) + 4, &command,
	       sizeof(command) - 4);
	for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
		errno = 0;
		if (write(fd, sources[i], sizeof(command)) != -1 ||
		    errno != EFAULT)
			fail_msg("source %zu: %s", i, strerror(errno));
	}
	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		command.cmd.response = answers[i];
		errno = 0;
		if (write(fd, &command, sizeof(command)) != -1 ||
		    errno != EFAULT)
			fail_msg("answer %zu: %s", i, strerror(errno));
	}
	assert_int_equal(fcntl(next, F_GETFD), -1);
	munmap(page, size);
	close(fd);
}

CASE(anything_else_is_refused)
{
	int fd = uverbs_open();
	const struct {
		struct command command;
		size_t len;
		int err;
	} cases[] = {
		{ .command = { .hdr = { IB_USER_VERBS_CMD_QUERY_DEVICE, 4,
					44 } },
		  .len = 16,
		  .err = EOPNOTSUPP },
		{ .command = { .hdr = { 0x80000000u, 4, 1 } },
		  .len = 16,
		  .err = EOPNOTSUPP },
		{ .command = comp_channel_command(), .len = 12, .err = EINVAL },
		{ .command = { .hdr = { IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL,
					2, 1 } },
		  .len = 8,
		  .err = EINVAL },
		{ .command = { .hdr = { IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL,
					4, 0 },
			       .cmd = { (uintptr_t)&resp } },
		  .len = 16,
		  .err = EINVAL },
		{ .len = 7, .err = EINVAL },
		{ .len = 0, .err = EINVAL },
	};
	char octet;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		errno = 0;
		if (write(fd, &cases[i].command, cases[i].len) != -1 ||
		    errno != cases[i].err)
			fail_msg("case %zu: %s", i, strerror(errno));
	}
	assert_int_equal(read(fd, &octet, 1), -1);
	assert_int_equal(errno, EINVAL);
	/* makes libibverbs use write() and sysfs */
	assert_int_equal(ioctl(fd, RDMA_VERBS_IOCTL, &octet), -1);
	assert_int_equal(errno, ENOTTY);
	close(fd);
}

static int refuse_without_the_kernel(void)
{
	int fd = open(UVERBS, O_RDWR), chan;
	char octet;

	if (fd < 0)
		return 1;
	chan = channel_open(fd);
	if (!deny_call(SYS_ioctl, ENOSYS))
		return 77;
	if (ioctl(fd, RDMA_VERBS_IOCTL, &octet) != -1 || errno != ENOTTY)
		return 2;
	if (ioctl(chan, RDMA_VERBS_IOCTL, &octet) != -1 || errno != ENOTTY)
		return 3;
	/* The kernel answers everything else. */
	if (ioctl(fd, FIONCLEX) != -1 || errno != ENOSYS)
		return 4;
	return 0;
}

/* An emulator of system calls, or a sandbox, gives another errno for unknown
 * requests. */
CASE(rdma_requests_are_refused_whatever_the_kernel_says)
{
	assert_in_filtered_child(refuse_without_the_kernel);
}

/* One line says why, however often it is tried. */
static int open_without_eventfd(void)
{
	char text[1024];
	int said[2];
	ssize_t len;

	if (pipe2(said, O_NONBLOCK) || dup2(said[1], STDERR_FILENO) < 0 ||
	    !deny_call(SYS_eventfd2, EPERM))
		return 77;
	for (int i = 0; i < 2; i++)
		if (open(UVERBS, O_RDWR) != -1 || errno != EPERM)
			return 1;
	len = read(said[0], text, sizeof(text) - 1);
	if (len <= 0)
		return 2;
	text[len] = '\0';
	return strstr(text,
		      "no device can be opened: eventfd() fails: Operation not "
		      "permitted; allow this call to the program\n") &&
			       strchr(text, '\n') == text + len - 1
		       ? 0
		       : 3;
}

CASE(a_forbidden_eventfd_is_told)
{
	assert_in_filtered_child(open_without_eventfd);
}

BEFORE_CASES()
{
	run_under_preload(argv);
}
