/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Whose SDP sockets are shown. */
#define _GNU_SOURCE /* memfd_create */
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "case.h"

#include "sdp/stat/sdp-stat.h"
#include "stat/sdp.h"

/* A page of this process, with one socket. */
static int page_make(void)
{
	struct sdp_stat_page head = {
		.magic = SDP_STAT_MAGIC,
		.version = SDP_STAT_VERSION,
		.pid = (uint32_t)getpid(),
		.sock_max = SDP_STAT_SOCK_MAX,
		.sock_cnt = 1,
	};
	struct sdp_stat_sock sock = { .seq = 2, .id = 1 };
	int fd = memfd_create("usiw-sdp-stat", MFD_CLOEXEC);

	assert_int_equal(write(fd, &head, sizeof(head)), sizeof(head));
	assert_int_equal(write(fd, &sock, sizeof(sock)), sizeof(sock));
	return fd;
}

static int proc_open(pid_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	fd = open(path, O_RDONLY | O_DIRECTORY);
	assert_true(fd >= 0);
	return fd;
}

static size_t sock_cnt(const struct process *process)
{
	const struct filter filter = { .wants_sdp = true };
	json_t *array = sdp_tree(process, &filter);
	size_t cnt = json_array_size(array);

	assert_non_null(array);
	json_decref(array);
	return cnt;
}

CASE(shows_no_sockets_of_a_process_that_has_got_the_number_of_another)
{
	struct process process = { .pid = (int)getpid() };
	int page = page_make();
	pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	process.proc_fd = proc_open(getpid());
	assert_int_equal(sock_cnt(&process), 1);
	close(process.proc_fd);
	/* As if this process had the number of the child, which ends. */
	process.proc_fd = proc_open(child);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(sock_cnt(&process), 0);
	close(process.proc_fd);
	close(page);
}
