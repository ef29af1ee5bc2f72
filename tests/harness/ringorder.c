/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Reports the order that a ring of the local path creates to ThreadSanitizer,
 * as tcporder.h does for TCP: accesses of the writer before it wrote happen
 * before accesses of the reader after it read.  In a test both ends are in one
 * process, but each has a mapping of its own, and the sanitizer knows addresses
 * only.  The names are those of ld --wrap, so no test has to call anything.
 */
#include <sanitizer/tsan_interface.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>

#include "local/memory.h"
#include "local/ring.h"
#include "os/guard.h"

/* Mappings at a time.  A ring of more of them than this has no order. */
#define ORDER_MAP_MAX 4096
/* Rings that have the same place count as the same ring. */
#define ORDER_RING_MAX 65536
#define ORDER_LINES (RNIC_LOCAL_SHARED_SIZE / RNIC_RING_LINE)

/* relaxed everywhere: they shall create no order themselves. */
static struct {
	_Atomic uintptr_t mem; /* 0: free */
	_Atomic uint64_t file; /* the same for both ends */
} order_map[ORDER_MAP_MAX];
/* The entries from here on were never used. */
static _Atomic int order_map_end;

/* Its address represents what is in a ring. */
static char order_ring[ORDER_RING_MAX];

/* Of the ring that this thread writes. */
static _Thread_local char *order_written;

int __real_rnic_guard(void (*access)(void *arg), void *arg);
int __real_rnic_local_memory_check(int fd);
int __real_rnic_local_memory_map(int fd, void **ret_mem);
void __real_rnic_local_memory_unmap(void *mem);
ssize_t __real_rnic_ring_write(struct rnic_ring *ring, const struct iovec *iov,
			       int cnt, size_t off, size_t max);
ssize_t __real_rnic_ring_read(struct rnic_ring *ring, const struct iovec *iov,
			      int cnt, size_t off, size_t max);
int __wrap_rnic_guard(void (*access)(void *arg), void *arg);
int __wrap_rnic_local_memory_check(int fd);
int __wrap_rnic_local_memory_map(int fd, void **ret_mem);
void __wrap_rnic_local_memory_unmap(void *mem);
ssize_t __wrap_rnic_ring_write(struct rnic_ring *ring, const struct iovec *iov,
			       int cnt, size_t off, size_t max);
ssize_t __wrap_rnic_ring_read(struct rnic_ring *ring, const struct iovec *iov,
			      int cnt, size_t off, size_t max);

/* Of the sanitizer's runtime; no header declares them. */
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);

/* The sanitizer takes mmap() and fstat() for accesses to the descriptor.  It
 * knows neither memfd_create() nor a close() by syscall(), so the number may
 * still belong to a file that another thread has opened and closed. */
int __wrap_rnic_local_memory_check(int fd)
{
	int rc;

	AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
	rc = __real_rnic_local_memory_check(fd);
	AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
	return rc;
}

/* @ret_file: of what is mapped, if it is; 0: not known. */
static int map_unseen(int fd, void **ret_mem, uint64_t *ret_file)
{
	struct stat st;
	int rc;

	AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
	rc = __real_rnic_local_memory_map(fd, ret_mem);
	*ret_file = rc == 0 && fstat(fd, &st) == 0 ? st.st_ino : 0;
	AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
	return rc;
}

static void order_map_reaches(int cnt)
{
	int end = atomic_load_explicit(&order_map_end, memory_order_relaxed);

	while (end < cnt && !atomic_compare_exchange_weak_explicit(
				    &order_map_end, &end, cnt,
				    memory_order_relaxed, memory_order_relaxed))
		;
}

int __wrap_rnic_local_memory_map(int fd, void **ret_mem)
{
	uint64_t file;
	int rc = map_unseen(fd, ret_mem, &file);

	if (!file)
		return rc;
	for (int i = 0; i < ORDER_MAP_MAX; i++) {
		uintptr_t is_free = 0;

		if (!atomic_compare_exchange_strong_explicit(
			    &order_map[i].mem, &is_free, (uintptr_t)*ret_mem,
			    memory_order_relaxed, memory_order_relaxed))
			continue;
		atomic_store_explicit(&order_map[i].file, file,
				      memory_order_relaxed);
		order_map_reaches(i + 1);
		break;
	}
	return rc;
}

void __wrap_rnic_local_memory_unmap(void *mem)
{
	for (int i = 0; i < ORDER_MAP_MAX; i++) {
		uintptr_t same = (uintptr_t)mem;

		if (atomic_compare_exchange_strong_explicit(
			    &order_map[i].mem, &same, 0, memory_order_relaxed,
			    memory_order_relaxed))
			break;
	}
	__real_rnic_local_memory_unmap(mem);
}

/* NULL: not in memory that was mapped here. */
static char *ring_place(const struct rnic_ring *ring)
{
	uintptr_t at = (uintptr_t)ring->shared;
	int end = atomic_load_explicit(&order_map_end, memory_order_relaxed);

	for (int i = 0; i < end; i++) {
		uintptr_t mem = atomic_load_explicit(&order_map[i].mem,
						     memory_order_relaxed);
		uint64_t file = atomic_load_explicit(&order_map[i].file,
						     memory_order_relaxed);

		if (mem && at - mem < RNIC_LOCAL_MEMORY_SIZE)
			return &order_ring[(file * ORDER_LINES +
					    (at - mem) / RNIC_RING_LINE) %
					   ORDER_RING_MAX];
	}
	return NULL;
}

/* The source has been read, and the reader does not know it yet. */
int __wrap_rnic_guard(void (*access)(void *arg), void *arg)
{
	int rc = __real_rnic_guard(access, arg);

	if (order_written)
		__tsan_release(order_written);
	return rc;
}

ssize_t __wrap_rnic_ring_write(struct rnic_ring *ring, const struct iovec *iov,
			       int cnt, size_t off, size_t max)
{
	ssize_t len;

	order_written = ring_place(ring);
	len = __real_rnic_ring_write(ring, iov, cnt, off, max);
	order_written = NULL;
	return len;
}

ssize_t __wrap_rnic_ring_read(struct rnic_ring *ring, const struct iovec *iov,
			      int cnt, size_t off, size_t max)
{
	ssize_t len = __real_rnic_ring_read(ring, iov, cnt, off, max);
	char *place = ring_place(ring);

	if (place && len > 0)
		__tsan_acquire(place);
	return len;
}
