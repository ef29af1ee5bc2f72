/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A counter page in a file, or in a memfd. */
#define _GNU_SOURCE /* memfd_create */
#include "page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cancel.h"
#include "env.h"
#include "fsize.h"
#include "log.h"

static int file_open(const char *dir, const char *name)
{
	char path[4096];
	int fd, ret;

	ret = snprintf(path, sizeof(path), "%s/%s.%d", dir, name,
		       (int)getpid());
	if (ret < 0 || (size_t)ret >= sizeof(path))
		return -ENAMETOOLONG;
	/* In a shared directory another user may have made a link there. */
	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		  0640);
	return fd < 0 ? -errno : fd;
}

static int page_map(int fd, size_t size, size_t filled, void *at,
		    void **ret_mem)
{
	void *mem;
	int ret;

	if (!util_fsize_allows(size))
		return -EFBIG;
	if (filled < size && ftruncate(fd, (off_t)size) < 0)
		return -errno;
	ret = posix_fallocate(fd, 0, (off_t)filled);
	if (ret != 0)
		return -ret;
	mem = mmap(at, size, PROT_READ | PROT_WRITE,
		   at ? MAP_SHARED | MAP_FIXED : MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		return -errno;
	*ret_mem = mem;
	return 0;
}

/* @fd: an open call's result, which the page keeps. */
static int page_from_fd(int fd, size_t size, size_t filled, void *at,
			struct util_page *ret_page)
{
	int ret;

	if (fd < 0)
		return fd;
	ret = page_map(fd, size, filled, at, &ret_page->mem);
	if (ret < 0)
		util_sys_close(fd);
	ret_page->fd = fd;
	return ret;
}

int util_page_make(const char *part, const char *name, size_t size,
		   size_t filled, void *at, struct util_page *ret_page)
{
	const char *dir = util_settings()->stat_dir;
	char fd_name[64];
	int fd, ret;

	ret_page->is_file = dir;
	if (dir) {
		ret = page_from_fd(file_open(dir, name), size, filled, at,
				   ret_page);
		if (ret >= 0)
			return ret;
		util_err(part, "stat: no counter file in %s: %s", dir,
			 strerror(-ret));
		ret_page->is_file = false;
	}
	snprintf(fd_name, sizeof(fd_name), "%s-stat", name);
	fd = memfd_create(fd_name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ret = page_from_fd(fd < 0 ? -errno : fd, size, filled, at, ret_page);
	/* A kernel without seals has no protection. */
	if (ret >= 0)
		(void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
	return ret;
}

int util_page_extend(int fd, uint64_t at, size_t size, void **ret_mem)
{
	void *mem;
	int ret;

	if (!util_fsize_allows(at + size))
		return -EFBIG;
	ret = posix_fallocate(fd, (off_t)at, (off_t)size);
	if (ret != 0)
		return -ret;
	mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   (off_t)at);
	if (mem == MAP_FAILED)
		return -errno;
	*ret_mem = mem;
	return 0;
}
