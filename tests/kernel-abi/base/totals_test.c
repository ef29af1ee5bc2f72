/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Counters of a device: of this process, and of others. */
#include "page.h"

#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "kernel-abi/base/process.h"
#include "kernel-abi/base/rnic-dl.h"
#include "kernel-abi/base/totals.h"

struct util_lock kabi_lock = UTIL_LOCK_INIT(UTIL_RANK_LEAF);

static void own_stats(const struct rnic_device *dev,
		      struct rnic_device_stats *ret_stats)
{
	(void)dev;
	*ret_stats = (struct rnic_device_stats){ .tx_fpdu = 1, .rx_staged = 2 };
}

static const struct kabi_rnic rnic = { .device_stats = own_stats };

const struct kabi_rnic *kabi_rnic(void)
{
	return &rnic;
}

static char dir[] = "/tmp/usiw-totals.XXXXXX";

BEFORE_CASES()
{
	(void)argc;
	(void)argv;
	assert_non_null(mkdtemp(dir));
	setenv("USIW_STAT_DIR", dir, 1);
}

/* What @ifindex has sent, at the next look at other processes. */
static uint64_t sent(uint32_t ifindex)
{
	struct rnic_device_stats stats;

	usleep(2000 * KABI_LIFESPAN_MS);
	kabi_totals(NULL, ifindex, &stats);
	return stats.tx_fpdu;
}

static void page_remove(int pid)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/usiw.%d", dir, pid);
	assert_int_equal(unlink(path), 0);
}

/* Pages of processes that run may be there as well, but of no such number. */
CASE(counts_what_processes_have_left)
{
	static struct page page;
	struct rnic_device_stats stats;

	page_fill(&page, 99);
	page.device[0].ifindex = 4000000001;
	page.device[1].ifindex = 4000000002;
	close(page_put(&page, dir, 99));
	kabi_totals(NULL, 4000000001, &stats);
	assert_int_equal(stats.tx_fpdu, 1 + 120);
	assert_int_equal(stats.rx_staged, 2);
	kabi_totals(NULL, 4000000002, &stats);
	assert_int_equal(stats.tx_fpdu, 1);
	assert_int_equal(stats.rx_staged, 2 + 3);
	/* no interface any more */
	kabi_totals(NULL, 0, &stats);
	assert_int_equal(stats.tx_fpdu, 1);
	page_remove(99);
}

/* As long as the device exists, though the processes do not. */
CASE(sums_do_not_fall)
{
	enum { MANY = 70 }; /* more than are remembered one by one */
	static struct page page;

	for (int i = MANY; i >= 1; i--) {
		page_fill(&page, 1000000000 + (uint32_t)i);
		page.device[0].ifindex = 4000000005;
		close(page_put(&page, dir, 1000000000 + i));
	}
	assert_int_equal(sent(4000000005), 1 + MANY * 120);
	for (int i = 2; i <= MANY; i++)
		page_remove(1000000000 + i);
	assert_int_equal(sent(4000000005), 1 + MANY * 120);
	page.device[0].count[0].tx_fpdu++;
	close(page_put(&page, dir, 1000000001));
	assert_int_equal(sent(4000000005), 2 + MANY * 120);
	page_remove(1000000001);
	assert_int_equal(sent(4000000005), 2 + MANY * 120);
}

/* Process 1 of a PID namespace, with @page in memory, until the other end of
 * @fd is closed. */
static void namespace_run(const struct page *page, int fd)
{
	int memfd = memfd_create("usiw-stat", MFD_CLOEXEC);
	char octet;

	if (getpid() != 1 ||
	    write(memfd, page, sizeof(*page)) != sizeof(*page) ||
	    write(fd, "r", 1) != 1)
		_exit(1);
	_exit(read(fd, &octet, 1) != 0);
}

/* *ret_fd: an octet comes when its page is there; the end: it cannot be made.
 * Return: its parent, which ends after it. */
static int namespace_start(const struct page *page, int *ret_fd)
{
	int fds[2], pid;

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(fds[0]);
		if (unshare(CLONE_NEWPID) < 0 &&
		    unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0)
			_exit(77);
		pid = fork();
		if (pid == 0)
			namespace_run(page, fds[1]);
		close(fds[1]);
		_exit(waitpid(pid, NULL, 0) != pid);
	}
	close(fds[1]);
	*ret_fd = fds[0];
	return pid;
}

/* While it runs it has another number here than in the page that it leaves. */
CASE(a_process_of_another_pid_namespace_counts_once)
{
	static struct page page;
	int fd, pid, status;
	char octet;

	page_fill(&page, 1);
	page.file.res.start_ns = 5;
	page.device[0].ifindex = 4000000006;
	pid = namespace_start(&page, &fd);
	if (read(fd, &octet, 1) != 1)
		skip_because("no PID namespace can be made");
	assert_int_equal(sent(4000000006), 1 + 120);
	close(fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	page.device[0].count[0].tx_fpdu++;
	close(page_put(&page, dir, 1));
	assert_int_equal(sent(4000000006), 2 + 120);
	page_remove(1);
}

/* Process 0 is not one. */
CASE(a_page_of_no_process_does_not_count)
{
	static struct page page;

	page_fill(&page, 0);
	page.device[0].ifindex = 4000000007;
	close(page_put(&page, dir, 98));
	assert_int_equal(sent(4000000007), 1);
	page_remove(98);
}

/* Its own page says no more than it knows. */
CASE(counts_itself_once)
{
	static struct page page;
	struct rnic_device_stats stats;
	int fd;

	page_fill(&page, (uint32_t)getpid());
	page.device[0].ifindex = 4000000003;
	fd = page_put(&page, dir, getpid());
	kabi_totals(NULL, 4000000003, &stats);
	assert_int_equal(stats.tx_fpdu, 1);
	close(fd);
	page_remove(getpid());
	assert_int_equal(rmdir(dir), 0);
}
