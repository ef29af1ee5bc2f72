/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Counters in a page that others may read: a file, or a memfd. */
#define _GNU_SOURCE /* memfd_create */
#include "stat.h"

#include "../abi/usiw-abi.h"
#include "../util/cancel.h"
#include "env.h"
#include "fd.h"
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(RNIC_STAT_CNT <= USIW_STAT_MAX, "counters fit the page");

static const char *const stat_names[] = {
#define STAT_NAME(name) [RNIC_STAT_##name] = #name,
	RNIC_STAT_LIST(STAT_NAME)
#undef STAT_NAME
};

/* Takes what is counted before the page exists. */
static struct usiw_stat_page stat_dummy;
static _Atomic(struct usiw_stat_page *) stat_page = &stat_dummy;
static _Atomic bool is_made;

void rnic_stat_add(enum rnic_stat stat, uint64_t value)
{
	/* acquire: pairs with the release in rnic_stat_init() */
	struct usiw_stat_page *page =
		atomic_load_explicit(&stat_page, memory_order_acquire);

	/* relaxed: a counter orders nothing */
	atomic_fetch_add_explicit(&page->stat[stat].value, value,
				  memory_order_relaxed);
}

static int page_file_open(const char *dir)
{
	char path[4096];
	int fd, ret;

	ret = snprintf(path, sizeof(path), "%s/usiw.%d", dir, (int)getpid());
	if (ret < 0 || (size_t)ret >= sizeof(path))
		return -ENAMETOOLONG;
	/* A file of that name is a dead process's, or this one's before it
	 * called exec; in a shared directory it may be a trap. */
	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		  0644);
	return fd < 0 ? -errno : fd;
}

/* Octets for the whole page, now: a full disk must not become SIGBUS. */
static int page_map(int fd, struct usiw_stat_page **ret_page)
{
	void *mem;
	int ret;

	ret = posix_fallocate(fd, 0, sizeof(struct usiw_stat_page));
	if (ret != 0)
		return -ret;
	mem = mmap(NULL, sizeof(struct usiw_stat_page), PROT_READ | PROT_WRITE,
		   MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		return -errno;
	*ret_page = mem;
	return 0;
}

static int page_from_file(const char *dir, struct usiw_stat_page **ret_page)
{
	int fd, ret;

	fd = page_file_open(dir);
	if (fd < 0)
		return fd;
	ret = page_map(fd, ret_page);
	util_sys_close(fd);
	return ret;
}

/* The memfd stays open: its number is how others find the page. */
static int page_from_memfd(struct usiw_stat_page **ret_page)
{
	int fd, ret;

	fd = memfd_create("usiw-stat", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = page_map(fd, ret_page);
	if (ret < 0)
		goto close_fd;
	ret = rnic_fd_register(&fd);
	if (ret < 0)
		goto unmap;
	return 0;

unmap:
	munmap(*ret_page, sizeof(**ret_page));
close_fd:
	util_sys_close(fd);
	return ret;
}

static void page_fill(struct usiw_stat_page *page)
{
	page->pid = (uint32_t)getpid();
	page->count = RNIC_STAT_CNT;
	page->version = USIW_STAT_VERSION;
	for (size_t i = 0; i < RNIC_STAT_CNT; i++)
		strncpy(page->stat[i].name, stat_names[i],
			sizeof(page->stat[i].name) - 1);
	/* release: a reader that finds it finds the rest */
	__atomic_store_n(&page->magic, USIW_STAT_MAGIC, __ATOMIC_RELEASE);
}

/* What was counted before belongs into the page, too. */
static void page_publish(struct usiw_stat_page *page)
{
	/* release: the page before its pointer */
	atomic_store_explicit(&stat_page, page, memory_order_release);
	for (size_t i = 0; i < RNIC_STAT_CNT; i++)
		rnic_stat_add(
			(enum rnic_stat)i,
			atomic_exchange_explicit(&stat_dummy.stat[i].value, 0,
						 memory_order_relaxed));
}

void rnic_stat_init(void)
{
	UTIL_CANCEL_OFF();
	const char *dir = util_settings()->stat_dir;
	struct usiw_stat_page *page = NULL;
	int ret = -ENOENT;

	/* The first caller makes it; others need not wait for that. */
	if (atomic_exchange_explicit(&is_made, true, memory_order_relaxed))
		return;
	if (dir) {
		ret = page_from_file(dir, &page);
		if (ret < 0)
			util_err("rnic", "stat: no counter file in %s: %s", dir,
				 strerror(-ret));
	}
	if (ret < 0)
		ret = page_from_memfd(&page);
	if (ret < 0)
		return; /* counting goes on in the dummy */
	page_fill(page);
	page_publish(page);
}

void rnic_stat_fork_child(void)
{
	struct usiw_stat_page *page =
		atomic_load_explicit(&stat_page, memory_order_relaxed);

	atomic_store_explicit(&is_made, false, memory_order_relaxed);
	if (page == &stat_dummy)
		return;
	/* The mapping is shared with the parent: its counters, not ours. */
	atomic_store_explicit(&stat_page, &stat_dummy, memory_order_relaxed);
	memset(&stat_dummy, 0, sizeof(stat_dummy));
	munmap(page, sizeof(*page));
}
