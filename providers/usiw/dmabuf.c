/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory regions of dma-bufs that the CPU can access, by a mapping of ours. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "util/cancel.h"
#include "objects.h"
#include "reason.h"
#include "result.h"

/* linux/magic.h; older headers do not have it. */
#define DMABUF_MAGIC 0x444d4142

#define REG "ibv_reg_dmabuf_mr"

/* As dma_buf_get().  Return: 0; -EBADF; -EINVAL: no dma-buf. */
static int dmabuf_find(int fd)
{
	struct statfs fs;
	int rc = fstatfs(fd, &fs);

	if (rc < 0 && errno == EBADF)
		return usiw_refuse(EBADF, REG, "fd %d is not open", fd);
	if (rc < 0 || fs.f_type != DMABUF_MAGIC)
		return usiw_refuse(EINVAL, REG, "fd %d is no dma-buf", fd);
	return 0;
}

static int dmabuf_check(int fd, uint64_t off, size_t len)
{
	uint64_t end;
	off_t size = lseek(fd, 0, SEEK_END);

	if (size < 0 || len == 0 || __builtin_add_overflow(off, len, &end) ||
	    end > (uint64_t)size)
		return usiw_refuse(EINVAL, REG,
				   "fd %d has no %zu octets at %llu", fd, len,
				   (unsigned long long)off);
	return 0;
}

/* Return: 0; -ENOMEM; -EOPNOTSUPP: only a device can access it. */
static int dmabuf_map(struct usiw_mr *mr, int fd, uint64_t off, size_t len,
		      uint32_t access)
{
	uint64_t head = off % (uint64_t)sysconf(_SC_PAGESIZE);
	int prot = PROT_READ;

	if (access & IBV_ACCESS_LOCAL_WRITE)
		prot |= PROT_WRITE;
	mr->map_len = len + head;
	mr->map = mmap(NULL, mr->map_len, prot, MAP_SHARED, fd,
		       (off_t)(off - head));
	if (mr->map != MAP_FAILED)
		return 0;
	return errno == ENOMEM || errno == EAGAIN
		       ? usiw_refuse_memory(REG)
		       : usiw_refuse(EOPNOTSUPP, REG,
				     "fd %d cannot be mapped: %s; only a "
				     "device reaches its memory",
				     fd, strerror(errno));
}

void usiw_dmabuf_unmap(const struct usiw_mr *mr)
{
	if (mr->map)
		munmap(mr->map, mr->map_len);
}

static int dmabuf_reg(struct usiw_pd *pd, struct usiw_mr *mr, uint64_t off,
		      size_t len, uint64_t iova, int fd, uint32_t access)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	int err;

	/* As the kernel: both begin at the same place of a page. */
	if (off % page != iova % page)
		return usiw_refuse(EINVAL, REG,
				   "offset and iova begin at different places "
				   "of a page");
	err = dmabuf_map(mr, fd, off, len, access);
	if (err)
		return err;
	/* The pages may be none that can be populated, as with memory of
	 * devices. */
	err = rnic_mr_reg(pd->rnic, (char *)mr->map + off % page, len, iova,
			  access | RNIC_ACCESS_ON_DEMAND, &mr->rnic);
	if (err)
		usiw_dmabuf_unmap(mr);
	return err;
}

/*
 * Programs ask with descriptor -1 whether dma-bufs can be registered at all,
 * and expect EBADF if so.
 */
struct ibv_mr *usiw_reg_dmabuf_mr(struct ibv_pd *ibpd, uint64_t offset,
				  size_t len, uint64_t iova, int fd, int access)
{
	UTIL_CANCEL_OFF();
	struct usiw_pd *pd = usiw_pd(ibpd);
	struct usiw_mr *mr;
	uint32_t wanted;
	int err;

	err = usiw_pd_enter(pd, REG);
	if (!err)
		err = dmabuf_find(fd);
	if (!err)
		err = usiw_mr_access(REG, (unsigned int)access, &wanted);
	if (!err && wanted & (IBV_ACCESS_ON_DEMAND | IBV_ACCESS_ZERO_BASED))
		err = usiw_refuse(EOPNOTSUPP, REG,
				  "access is 0x%x, with IBV_ACCESS_ON_DEMAND "
				  "or _ZERO_BASED",
				  (unsigned int)access);
	if (!err)
		err = dmabuf_check(fd, offset, len);
	if (err)
		return usiw_result_null(err);
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return usiw_result_null(usiw_refuse_memory(REG));
	err = dmabuf_reg(pd, mr, offset, len, iova, fd, wanted);
	if (err) {
		free(mr);
		return usiw_result_null(err);
	}
	usiw_mr_init(mr, ibpd, (void *)(uintptr_t)offset, len, access);
	mr->vmr.mr_type = VERBS_MR_TYPE_DMABUF_MR;
	return &mr->vmr.ibv_mr;
}
