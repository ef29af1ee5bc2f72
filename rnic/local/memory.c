/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The memory of two rings: made by one end, checked and mapped by the other. */
#define _GNU_SOURCE /* memfd_create */
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "util/cancel.h"
#include "util/fsize.h"
#include "ring.h"

#define MEMORY_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

_Static_assert(2 * sizeof(struct rnic_ring_shared) <= RNIC_LOCAL_SHARED_SIZE,
	       "both fit in front of the octets");

int rnic_local_memory_new(void)
{
	int fd, rc;

	if (!util_fsize_allows(RNIC_LOCAL_MEMORY_SIZE))
		return -EFBIG;
	fd = memfd_create("usiw-local", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, RNIC_LOCAL_MEMORY_SIZE) == 0 &&
	    syscall(SYS_fcntl, fd, F_ADD_SEALS, MEMORY_SEALS) == 0)
		return fd;
	rc = -errno;
	util_sys_close(fd);
	return rc;
}

int rnic_local_memory_check(int fd)
{
	long seals = syscall(SYS_fcntl, fd, F_GET_SEALS);
	struct statfs fs;
	struct stat st;

	if (seals < 0 || (seals & MEMORY_SEALS) != MEMORY_SEALS)
		return -EPROTO;
	/* Huge pages can be short when they are touched: SIGBUS.  fallocate()
	 * gives such a file this size, too. */
	if (fstatfs(fd, &fs) < 0 || fs.f_type != TMPFS_MAGIC)
		return -EPROTO;
	if (fstat(fd, &st) < 0 || st.st_size != RNIC_LOCAL_MEMORY_SIZE)
		return -EPROTO;
	return 0;
}

int rnic_local_memory_map(int fd, void **ret_mem)
{
	void *mem = mmap(NULL, RNIC_LOCAL_MEMORY_SIZE, PROT_READ | PROT_WRITE,
			 MAP_SHARED, fd, 0);

	if (mem == MAP_FAILED)
		return -errno;
	madvise(mem, RNIC_LOCAL_MEMORY_SIZE, MADV_DONTFORK);
	*ret_mem = mem;
	return 0;
}

void rnic_local_memory_unmap(void *mem)
{
	munmap(mem, RNIC_LOCAL_MEMORY_SIZE);
}

void rnic_local_memory_divide(void *mem, bool is_active,
			      struct rnic_ring *ret_tx,
			      struct rnic_ring *ret_rx)
{
	struct rnic_ring_shared *shared = mem;
	uint8_t *data = (uint8_t *)mem + RNIC_LOCAL_SHARED_SIZE;
	int tx = is_active ? 0 : 1;

	rnic_ring_init(ret_tx, &shared[tx], data + tx * RNIC_RING_SIZE);
	rnic_ring_init(ret_rx, &shared[1 - tx],
		       data + (1 - tx) * RNIC_RING_SIZE);
}
