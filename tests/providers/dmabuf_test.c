/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Regions of dma-bufs; a memfd stands for one, because few machines have a
 * driver that makes some. */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "fake-rnic.h"
#include "maps.h"

#define PAGE 65536 /* of every machine, or a multiple */
#define SIZE (4 * PAGE)
#define WRITABLE (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

static long fs_type;

/* In place of libc's. */
int fstatfs(int fd, struct statfs *buf)
{
	memset(buf, 0, sizeof(*buf));
	if (fcntl(fd, F_GETFD) < 0)
		return -1;
	buf->f_type = fs_type;
	return 0;
}

static int buffer_new(void)
{
	int fd = memfd_create("dmabuf", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, SIZE), 0);
	fs_type = 0x444d4142;
	return fd;
}

FAKE_CASE(it_is_mapped_as_long_as_it_is_registered)
{
	struct fake_world *w = *state;
	int fd = buffer_new();
	struct ibv_mr *mr = ibv_reg_dmabuf_mr(
		w->pd, PAGE + 64, PAGE, 0x7000000000ull + 64, fd, WRITABLE);

	assert_non_null(mr);
	close(fd);
	assert_int_equal(maps_cnt("memfd:dmabuf"), 1);
	assert_int_equal(mr->length, PAGE);
	assert_true(mr->addr == (void *)(PAGE + 64));
	assert_true(fake.iova == 0x7000000000ull + 64);
	assert_int_equal(fake.mr_access, WRITABLE | RNIC_ACCESS_ON_DEMAND);
	assert_true(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				 0) != 0);
	assert_true(usiw_rereg_mr((struct verbs_mr *)mr,
				  IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				  0) != 0);
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(maps_cnt("memfd:dmabuf"), 0);
}

FAKE_CASE(each_refusal_has_its_error)
{
	struct fake_world *w = *state;
	int fd = buffer_new();
	const struct {
		uint64_t off, len, iova;
		int fd, access, err;
	} rows[] = {
		{ 0, 0, 0, -1, 0, EBADF }, /* so programs ask */
		{ 0, PAGE, 0, 12345, WRITABLE, EBADF },
		{ 0, 0, 0, fd, 0, EINVAL },
		{ 0, SIZE + 1, 0, fd, 0, EINVAL },
		{ SIZE, 1, 0, fd, 0, EINVAL },
		{ UINT64_MAX - 63, 128, 0, fd, 0, EINVAL },
		{ 64, 128, 0, fd, 0, EINVAL },
		{ 0, 128, 0, fd, IBV_ACCESS_REMOTE_WRITE, EINVAL },
		{ 0, 128, 0, fd, IBV_ACCESS_ON_DEMAND, EOPNOTSUPP },
		{ 0, 128, 0, fd, IBV_ACCESS_ZERO_BASED, EOPNOTSUPP },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		errno = 0;
		if (ibv_reg_dmabuf_mr(w->pd, rows[i].off, rows[i].len,
				      rows[i].iova, rows[i].fd,
				      rows[i].access) ||
		    errno != rows[i].err)
			fail_msg("row %zu: %s", i, strerror(errno));
	}
	/* Only a device can access it: the mapping fails. */
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
	assert_null(ibv_reg_dmabuf_mr(w->pd, 0, 128, 0, fd, WRITABLE));
	assert_int_equal(errno, EOPNOTSUPP);
	fake.fail_name = "rnic_mr_reg";
	fake.fail_err = -ENOMEM;
	assert_null(ibv_reg_dmabuf_mr(w->pd, 0, 128, 0, fd, 0));
	assert_int_equal(errno, ENOMEM);
	/* no dma-buf */
	fs_type = 0x01021994;
	fake.fail_name = NULL;
	assert_null(ibv_reg_dmabuf_mr(w->pd, 0, 128, 0, fd, 0));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(maps_cnt("memfd:dmabuf"), 0);
	close(fd);
}
