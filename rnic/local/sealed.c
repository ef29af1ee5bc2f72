/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory that processes share: files whose size cannot change. */
#define _GNU_SOURCE /* memfd_create */
#include "sealed.h"

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

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

int rnic_sealed_new(size_t size)
{
	int fd, rc;

	if (!util_fsize_allows(size))
		return -EFBIG;
	fd = memfd_create("usiw-local", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)size) == 0 &&
	    syscall(SYS_fcntl, fd, F_ADD_SEALS, SEALS) == 0)
		return fd;
	rc = -errno;
	util_sys_close(fd);
	return rc;
}

int rnic_sealed_check(int fd, size_t size)
{
	long seals = syscall(SYS_fcntl, fd, F_GET_SEALS);
	struct statfs fs;
	struct stat st;

	if (seals < 0 || (seals & SEALS) != SEALS)
		return -EPROTO;
	/* Huge pages can be short when they are touched: SIGBUS.  fallocate()
	 * gives such a file this size, too. */
	if (fstatfs(fd, &fs) < 0 || fs.f_type != TMPFS_MAGIC)
		return -EPROTO;
	if (fstat(fd, &st) < 0 || st.st_size != (off_t)size)
		return -EPROTO;
	return 0;
}

int rnic_sealed_map(int fd, size_t size, void **ret_mem)
{
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (mem == MAP_FAILED)
		return -errno;
	madvise(mem, size, MADV_DONTFORK);
	*ret_mem = mem;
	return 0;
}
