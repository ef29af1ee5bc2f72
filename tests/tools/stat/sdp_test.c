/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* SDP sockets: whose are shown, and the table. */
#define _GNU_SOURCE /* memfd_create */
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "case.h"

#include "sdp/stat/sdp-stat.h"
#include "stat/sdp.h"

#define HEAD(family, port) (uint64_t)(family) << 48 | (uint64_t)(port) << 32

/* A page of this process, with two sockets. */
static int page_make(void)
{
	struct sdp_stat_page head = {
		.magic = SDP_STAT_MAGIC,
		.version = SDP_STAT_VERSION,
		.pid = (uint32_t)getpid(),
		.sock_max = SDP_STAT_SOCK_MAX,
		.sock_cnt = 2,
	};
	const struct sdp_stat_sock sock[] = {
		{ .seq = 2,
		  .id = 1,
		  .local = { HEAD(AF_INET, 1), { 0x7f000001 } },
		  .peer = { HEAD(AF_INET, 2), { 0x7f000001 } } },
		{ .seq = 4,
		  .id = 2,
		  .local = { HEAD(AF_INET6, 1),
			     { 0xfe80000000000000, 0x1234567812345678 } },
		  .peer = { HEAD(AF_INET6, 2), { 0, 1 } } },
	};
	int fd = memfd_create("usiw-sdp-stat", MFD_CLOEXEC);

	assert_int_equal(write(fd, &head, sizeof(head)), sizeof(head));
	assert_int_equal(write(fd, sock, sizeof(sock)), sizeof(sock));
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
	assert_int_equal(sock_cnt(&process), 2);
	close(process.proc_fd);
	/* As if this process had the number of the child, which ends. */
	process.proc_fd = proc_open(child);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(sock_cnt(&process), 0);
	close(process.proc_fd);
	close(page);
}

/* What is printed of this process. */
static void table_read(char *ret_text, size_t size)
{
	const struct process process = { .pid = (int)getpid(),
					 .proc_fd = proc_open(getpid()) };
	const struct filter filter = { .wants_sdp = true };
	int page = page_make(), saved = dup(STDOUT_FILENO);
	int fd = memfd_create("table", MFD_CLOEXEC);
	ssize_t len;

	fflush(stdout);
	dup2(fd, STDOUT_FILENO);
	assert_int_equal(sdp_table(&process, &filter), 0);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	len = pread(fd, ret_text, size - 1, 0);
	assert_true(len > 0);
	ret_text[len] = '\0';
	close(fd);
	close(saved);
	close(page);
	close(process.proc_fd);
}

CASE(columns_are_as_wide_as_an_address)
{
	char text[4096], *line[3];

	table_read(text, sizeof(text));
	assert_non_null(strtok(text, "\n"));
	for (int i = 0; i < 3; i++) {
		line[i] = strtok(NULL, "\n");
		assert_non_null(line[i]);
	}
	assert_int_equal(strstr(line[0], "PEER") - line[0],
			 strstr(line[1], "127.0.0.1:2") - line[1]);
	assert_int_equal(strstr(line[0], "PEER") - line[0],
			 strstr(line[2], "[::1]:2") - line[2]);
}
