/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Counters in a page that others may read: a file, or a memfd. */
#define _GNU_SOURCE /* program_invocation_short_name, MAP_ANONYMOUS */
#include "stat.h"

#include "abi/usiw-observer.h"
#include "util/cancel.h"
#include "util/clock.h"
#include "util/lock.h"
#include "util/log.h"
#include "util/page.h"
#include "fd.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(RNIC_STAT_CNT <= USIW_STAT_MAX, "counters fit the page");
_Static_assert(USIW_STAT_PARTS == 32, "parts_taken has a bit for each part");

static const char *const stat_names[] = {
#define STAT_NAME(name) [RNIC_STAT_##name] = #name,
	RNIC_STAT_LIST(STAT_NAME)
#undef STAT_NAME
};

_Static_assert(sizeof(struct usiw_stat_file) <= RNIC_STAT_SIZE,
	       "the page fits its memory");

_Alignas(RNIC_STAT_SIZE) union rnic_stat_memory rnic_stat_memory;

static struct {
	struct util_lock lock; /* while it is made */
	_Atomic bool is_made;  /* or cannot be */
	_Atomic int fd;	       /* of the page; -1: there is none */
	dev_t dev;
	ino_t ino;
	uint64_t end; /* octets of the file that are mapped */
} file = { .lock = UTIL_LOCK_INIT(UTIL_RANK_LEAF), .fd = -1 };
static _Atomic uint32_t parts_taken; /* bit n: part n + 1 */

static void page_fill(struct usiw_stat_file *to)
{
	struct usiw_stat_page *page = &to->page;

	to->res.start_ns = util_clock_ns(CLOCK_REALTIME);
	strncpy(to->res.program, program_invocation_short_name,
		sizeof(to->res.program) - 1);
	page->pid = (uint32_t)getpid();
	page->count = RNIC_STAT_CNT;
	page->part_cnt = USIW_STAT_PARTS;
	page->version = USIW_STAT_VERSION;
	for (size_t i = 0; i < RNIC_STAT_CNT; i++)
		strncpy(page->stat[i].name, stat_names[i],
			sizeof(page->stat[i].name) - 1);
	/* release: a reader that finds it finds the rest */
	__atomic_store_n(&page->magic, USIW_STAT_MAGIC, __ATOMIC_RELEASE);
}

struct rnic_stat_part rnic_stat_part_take(void)
{
	/* acquire: pairs with rnic_stat_part_give(); the last owner's values */
	uint32_t taken =
		atomic_load_explicit(&parts_taken, memory_order_acquire);

	while (~taken) {
		uint32_t num = (uint32_t)__builtin_ctz(~taken);

		if (atomic_compare_exchange_weak_explicit(
			    &parts_taken, &taken, taken | 1u << num,
			    memory_order_acquire, memory_order_acquire))
			return (struct rnic_stat_part){ .num = num + 1 };
	}
	return (struct rnic_stat_part){ .num = 0 };
}

void rnic_stat_part_give(struct rnic_stat_part part)
{
	if (part.num)
		atomic_fetch_and_explicit(&parts_taken, ~(1u << (part.num - 1)),
					  memory_order_release);
}

/* The descriptor stays open.  That of a memfd is how others find the page. */
static int page_make(void **ret_mem)
{
	const size_t size = sizeof(struct usiw_stat_file);
	struct util_page made;
	struct stat st;
	int fd, ret;

	ret = util_page_make("rnic", "usiw", size, size, NULL, &made);
	if (ret < 0)
		return ret;
	fd = rnic_fd_own(made.fd);
	if (fd < 0) {
		munmap(made.mem, size);
		return fd;
	}
	/* Without its name it does not grow. */
	if (fstat(fd, &st) == 0) {
		file.dev = st.st_dev;
		file.ino = st.st_ino;
	}
	file.end = size;
	*ret_mem = made.mem;
	return fd;
}

/* Locked.  Return: true: it is there. */
static bool page_put(void)
{
	const size_t size = sizeof(struct usiw_stat_file);
	void *mem = NULL;
	int fd = page_make(&mem);

	if (fd < 0)
		return false; /* counting goes on in private memory */
	/* With what was counted before.  What a thread counts meanwhile is
	 * lost: no device is open yet. */
	memcpy(mem, &rnic_stat_memory.file, size);
	page_fill(mem);
	/* Not mremap(): that of UCX, which replaces libc's, has no address. */
	if (mmap(&rnic_stat_memory, size, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
		util_warn("rnic", "stat: the counter page cannot be mapped: %s",
			  strerror(errno));
	munmap(mem, size);
	/* release: the page before its file */
	atomic_store_explicit(&file.fd, fd, memory_order_release);
	return true;
}

bool rnic_stat_init(void)
{
	UTIL_CANCEL_OFF();
	bool is_new = false;

	/* acquire: pairs with the release below; the page is there */
	if (atomic_load_explicit(&file.is_made, memory_order_acquire))
		return false;
	util_lock(&file.lock);
	if (!atomic_load_explicit(&file.is_made, memory_order_relaxed))
		is_new = page_put();
	atomic_store_explicit(&file.is_made, true, memory_order_release);
	util_unlock(&file.lock);
	return is_new;
}

int rnic_stat_fd(void)
{
	return atomic_load_explicit(&file.fd, memory_order_acquire);
}

/* A program that closes all numbers may have another file at this one. */
static bool file_is_ours(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_dev == file.dev &&
	       st.st_ino == file.ino;
}

int rnic_stat_extend(size_t size, void **ret_mem, uint64_t *ret_offset)
{
	uint64_t page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t at = (file.end + page_size - 1) & ~(page_size - 1);
	int fd = rnic_stat_fd(), ret;

	if (fd < 0)
		return -ENOENT;
	if (!file_is_ours(fd))
		return -ESTALE;
	/* Then the records of commands that observe follow. */
	if (at + size > USIW_OBSERVER_AT(0))
		return -EFBIG;
	ret = util_page_extend(fd, at, size, ret_mem);
	if (ret < 0)
		return ret;
	file.end = at + size;
	*ret_offset = at;
	return 0;
}

void rnic_stat_fork_child(void)
{
	util_lock_init(&file.lock, UTIL_RANK_LEAF);
	atomic_store_explicit(&file.is_made, false, memory_order_relaxed);
	/* Closed with the parent's others. */
	atomic_store_explicit(&file.fd, -1, memory_order_relaxed);
	/* The parent's engines do not count here. */
	atomic_store_explicit(&parts_taken, 0, memory_order_relaxed);
	/* The mapping is shared with the parent: its counters, not ours.  If
	 * there is no memory, both count there until the next page is made. */
	(void)mmap(&rnic_stat_memory, RNIC_STAT_SIZE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}
