/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Files that are not a page, truncated pages, and pages of processes that ended
 * during a change. */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stat/read.h"

#define SOCKS 3

struct image {
	struct sdp_stat_page head;
	struct sdp_stat_sock sock[SOCKS];
};

static void image_make(struct image *image)
{
	memset(image, 0, sizeof(*image));
	image->head.magic = SDP_STAT_MAGIC;
	image->head.version = SDP_STAT_VERSION;
	image->head.sock_max = SDP_STAT_SOCK_MAX;
	image->head.sock_cnt = SOCKS;
	memset(image->head.program, 'x', sizeof(image->head.program));
	image->head.program[0] = '\033';
	image->head.closed[SDP_STAT_tx_bcopy] = 1000;
	image->head.overflow.counter[SDP_STAT_tx_bcopy] = 100;
	for (unsigned int i = 0; i < SOCKS; i++) {
		image->sock[i].seq = 2 * i; /* the first one is free */
		image->sock[i].id = i;
		image->sock[i].counter[SDP_STAT_tx_bcopy] = i;
	}
}

/* Writes @len octets of it to a file. */
static int image_file(const void *image, size_t len)
{
	int fd = memfd_create("image", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, image, len), len);
	return fd;
}

static int image_read(const void *image, size_t len,
		      struct sdp_stat_snapshot *ret_snapshot)
{
	int fd = image_file(image, len);
	int ret = sdp_stat_read(fd, ret_snapshot);

	close(fd);
	return ret;
}

CASE(takes_slots_in_use)
{
	struct sdp_stat_snapshot s;
	struct image image;

	image_make(&image);
	assert_int_equal(image_read(&image, sizeof(image), &s), 0);
	assert_int_equal(s.sock_cnt, 2);
	assert_int_equal(s.sock[0].id, 1);
	assert_int_equal(s.sock[1].id, 2);
	assert_true(s.total[SDP_STAT_tx_bcopy] == 1103);
	assert_int_equal(strlen(s.head.program), 63);
	assert_int_equal(s.head.program[0], '?');
	sdp_stat_snapshot_free(&s);
}

CASE(refuses_what_is_no_page)
{
	struct sdp_stat_snapshot s;
	struct image image;

	image_make(&image);
	for (size_t len = 0; len < sizeof(image.head); len += 7)
		assert_int_equal(image_read(&image, len, &s), -EPROTO);
	image.head.magic = 0;
	assert_int_equal(image_read(&image, sizeof(image), &s), -EAGAIN);
	image.head.magic = SDP_STAT_MAGIC + 1;
	assert_int_equal(image_read(&image, sizeof(image), &s), -EPROTO);
	image_make(&image);
	image.head.version++;
	assert_int_equal(image_read(&image, sizeof(image), &s), -EPROTO);
	image_make(&image);
	image.head.sock_max = 7;
	assert_int_equal(image_read(&image, sizeof(image), &s), -EPROTO);
	image_make(&image);
	image.head.sock_cnt = SDP_STAT_SOCK_MAX + 1;
	assert_int_equal(image_read(&image, sizeof(image), &s), -EPROTO);
	assert_int_equal(sdp_stat_read(-1, &s), -EBADF);
}

/* Fewer slots than the page says: only complete ones are read. */
CASE(takes_a_cut_page)
{
	struct sdp_stat_snapshot s;
	struct image image;

	image_make(&image);
	image.head.sock_cnt = SDP_STAT_SOCK_MAX;
	assert_int_equal(image_read(&image, sizeof(image) - 1, &s), 0);
	assert_int_equal(s.sock_cnt, 1);
	sdp_stat_snapshot_free(&s);
	assert_int_equal(image_read(&image, sizeof(image.head), &s), 0);
	assert_int_equal(s.sock_cnt, 0);
	sdp_stat_snapshot_free(&s);
}

CASE(takes_the_page_of_a_killed_process)
{
	struct sdp_stat_snapshot s;
	struct image image;

	image_make(&image);
	image.head.fold_seq = 9;
	image.sock[1].seq = 5;
	assert_int_equal(image_read(&image, sizeof(image), &s), 0);
	assert_int_equal(s.sock_cnt, 1);
	assert_int_equal(s.sock[0].id, 2);
	sdp_stat_snapshot_free(&s);
}
