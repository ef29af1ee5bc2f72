/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Copies of counter pages: whole ones, damaged ones, cut ones, and those of a
 * process that changes them, or was killed in the middle.
 */
#define _GNU_SOURCE
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/stat-read.h"

#define MRS 3

struct image {
	struct usiw_stat_file file;
	_Alignas(64) struct usiw_res_mr mr[MRS];
	struct usiw_res_device device;
};

static void image_make(struct image *image)
{
	struct usiw_stat_page *page = &image->file.page;
	struct usiw_res_dir *res = &image->file.res;

	memset(image, 0, sizeof(*image));
	page->magic = USIW_STAT_MAGIC;
	page->version = USIW_STAT_VERSION;
	page->pid = 77;
	page->count = 2;
	page->part_cnt = USIW_STAT_PARTS;
	strcpy(page->stat[0].name, "cqe");
	memset(page->stat[1].name, 'x', sizeof(page->stat[1].name));
	page->stat[0].value = 1000;
	page->part[0].value[0] = 20;
	page->part[31].value[0] = 3;
	memset(res->program, 'p', sizeof(res->program));
	res->used[USIW_RES_MR] = 11;
	res->unseen[USIW_RES_MR] = 9;
	res->chunk_cnt = 2;
	res->chunk[0] = (struct usiw_res_chunk){ offsetof(struct image, mr),
						 MRS, USIW_RES_MR, 64 };
	res->chunk[1] =
		(struct usiw_res_chunk){ offsetof(struct image, device), 1,
					 USIW_RES_DEVICE,
					 sizeof(struct usiw_res_device) };
	for (uint32_t i = 0; i < MRS; i++) {
		image->mr[i].head.seq = 2 * i; /* the first one is free */
		image->mr[i].head.id = i;
		image->mr[i].len = 100 * i;
	}
	image->device.head.seq = 8;
	memset(image->device.name, 'n', sizeof(image->device.name));
	memset(image->device.ifname, 'i', sizeof(image->device.ifname));
	image->device.count[0].tx_fpdu = 5;
	image->device.count[USIW_STAT_PARTS].tx_fpdu = 6;
}

static int image_file(const void *image, size_t len)
{
	int fd = memfd_create("image", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, image, len), len);
	return fd;
}

static int image_read(const void *image, size_t len, struct util_stat *ret_stat)
{
	int fd = image_file(image, len);
	int ret = util_stat_read(fd, ret_stat);

	close(fd);
	return ret;
}

struct seen {
	uint32_t cnt;
	uint64_t len_sum;
	struct util_stat_place place; /* of the last one */
	struct usiw_res_mr mr;
};

static int mr_see(void *arg, const void *resource, struct util_stat_place place)
{
	const struct usiw_res_mr *mr = resource;
	struct seen *seen = arg;

	seen->cnt++;
	seen->len_sum += mr->len;
	seen->place = place;
	memcpy(&seen->mr, mr, sizeof(*mr));
	return 0;
}

CASE(reads_counters_and_resources)
{
	struct seen seen = { 0 };
	struct util_stat stat;
	struct image image;
	uint64_t value;
	int fd;

	image_make(&image);
	fd = image_file(&image, sizeof(image));
	assert_int_equal(util_stat_read(fd, &stat), 0);
	assert_int_equal(stat.pid, 77);
	assert_int_equal(strlen(stat.program), 15);
	assert_int_equal(strlen(stat.counter[1].name), 23);
	assert_true(util_stat_counter(&stat, "cqe", &value));
	assert_int_equal(value, 1023);
	assert_false(util_stat_counter(&stat, "no such", &value));
	assert_int_equal(stat.used[USIW_RES_MR], 11);
	assert_int_equal(stat.unseen[USIW_RES_MR], 9);
	assert_int_equal(util_stat_each(&stat, USIW_RES_MR, mr_see, &seen), 0);
	assert_int_equal(seen.cnt, 2);
	assert_int_equal(seen.len_sum, 300);
	close(fd);
}

static int device_see(void *arg, const void *resource,
		      struct util_stat_place place)
{
	const struct usiw_res_device *device = resource;

	(void)place;
	assert_int_equal(strlen(device->name), 63);
	assert_int_equal(strlen(device->ifname), 15);
	*(uint64_t *)arg = UTIL_STAT_DEVICE_SUM(device, tx_fpdu);
	return -7;
}

CASE(ends_texts_and_stops_when_it_is_told)
{
	struct util_stat stat;
	struct image image;
	uint64_t sum = 0;
	int fd;

	image_make(&image);
	fd = image_file(&image, sizeof(image));
	assert_int_equal(util_stat_read(fd, &stat), 0);
	assert_int_equal(
		util_stat_each(&stat, USIW_RES_DEVICE, device_see, &sum), -7);
	assert_int_equal(sum, 11);
	close(fd);
}

CASE(takes_no_control_characters)
{
	struct util_stat stat;
	struct image image;

	image_make(&image);
	strcpy(image.file.res.program, "a\033[2Jb\177\n\xc3\xa4");
	strcpy(image.file.page.stat[0].name, "\r");
	assert_int_equal(image_read(&image, sizeof(image), &stat), 0);
	assert_string_equal(stat.program, "a?[2Jb????");
	assert_string_equal(stat.counter[0].name, "?");
}

CASE(refuses_what_is_no_page)
{
	struct util_stat stat;
	struct image image;

	image_make(&image);
	assert_int_equal(image_read(&image, 0, &stat), -EAGAIN);
	for (size_t len = 1; len < sizeof(image.file); len += 61)
		assert_int_equal(image_read(&image, len, &stat), -EPROTO);
	image.file.page.magic = 0;
	assert_int_equal(image_read(&image, sizeof(image), &stat), -EAGAIN);
	image.file.page.magic = 1;
	assert_int_equal(image_read(&image, sizeof(image), &stat), -EPROTO);
	image_make(&image);
	image.file.page.version++;
	assert_int_equal(image_read(&image, sizeof(image), &stat),
			 -EPROTONOSUPPORT);
	assert_int_equal(util_stat_read(-1, &stat), -EBADF);
}

/* One field each is a number that cannot be. */
CASE(refuses_nonsense)
{
	static const struct {
		size_t offset, len;
		uint64_t value;
	} damages[] = {
#define DAMAGE(field, value)                                                   \
	{ offsetof(struct image, file.field),                                  \
	  sizeof(((struct image *)0)->file.field), (value) }
		DAMAGE(page.count, USIW_STAT_MAX + 1),
		DAMAGE(page.part_cnt, USIW_STAT_PARTS + 1),
		DAMAGE(res.chunk_cnt, USIW_RES_CHUNK_MAX + 1),
		DAMAGE(res.chunk_cnt, UINT32_MAX),
		DAMAGE(res.chunk_cnt, 3), /* the third is all 0 */
		DAMAGE(res.chunk[0].kind, 0),
		DAMAGE(res.chunk[0].kind, USIW_RES_KIND_CNT),
		DAMAGE(res.chunk[0].kind, UINT16_MAX),
		DAMAGE(res.chunk[0].slot_size, 0),
		DAMAGE(res.chunk[0].slot_size, 128),
		DAMAGE(res.chunk[0].slot_cnt, UINT32_MAX),
		DAMAGE(res.chunk[0].slot_cnt, 1000),
		DAMAGE(res.chunk[0].offset, 0),
		DAMAGE(res.chunk[0].offset, UINT64_MAX),
		DAMAGE(res.chunk[0].offset, UINT64_MAX - 63),
		DAMAGE(res.chunk[0].offset, offsetof(struct image, mr) + 1),
		DAMAGE(res.chunk[0].offset, UINT64_C(1) << 63),
#undef DAMAGE
	};
	struct util_stat stat;
	struct image image;

	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		image_make(&image);
		memcpy((uint8_t *)&image + damages[i].offset, &damages[i].value,
		       damages[i].len);
		assert_int_equal(image_read(&image, sizeof(image), &stat),
				 -EPROTO);
	}
}

/* A hole of any size costs a hostile process nothing. */
CASE(refuses_more_than_a_process_has)
{
	struct util_stat stat;
	struct image image;
	int fd;

	image_make(&image);
	image.file.res.chunk[0].slot_cnt = 1u << 30;
	fd = image_file(&image, sizeof(image));
	assert_int_equal(ftruncate(fd, INT64_C(1) << 40), 0);
	assert_int_equal(util_stat_read(fd, &stat), -EPROTO);
	close(fd);
}

CASE(takes_what_is_left_of_a_file_that_is_cut)
{
	struct seen seen = { 0 };
	struct util_stat stat;
	struct image image;
	int fd;

	image_make(&image);
	fd = image_file(&image, sizeof(image));
	assert_int_equal(util_stat_read(fd, &stat), 0);
	assert_int_equal(ftruncate(fd, offsetof(struct image, mr) + 2 * 64 + 5),
			 0);
	assert_int_equal(util_stat_each(&stat, USIW_RES_MR, mr_see, &seen), 0);
	assert_int_equal(seen.cnt, 1);
	assert_int_equal(util_stat_again(&stat, USIW_RES_MR,
					 (struct util_stat_place){ 0, 2 },
					 &seen.mr),
			 -ENOENT);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(util_stat_each(&stat, USIW_RES_MR, mr_see, &seen), 0);
	assert_int_equal(seen.cnt, 1);
	close(fd);
}

CASE(leaves_out_what_a_killed_process_was_changing)
{
	struct seen seen = { 0 };
	struct util_stat stat;
	struct image image;
	int fd;

	image_make(&image);
	image.mr[1].head.seq = 5;
	fd = image_file(&image, sizeof(image));
	assert_int_equal(util_stat_read(fd, &stat), 0);
	assert_int_equal(util_stat_each(&stat, USIW_RES_MR, mr_see, &seen), 0);
	assert_int_equal(seen.cnt, 1);
	assert_int_equal(seen.mr.head.id, 2);
	close(fd);
}

CASE(finds_a_resource_again)
{
	const uint64_t len = 4711;
	struct seen seen = { 0 };
	struct util_stat stat;
	struct image image;
	uint32_t seq = 12, id = 99;
	off_t at;
	int fd;

	image_make(&image);
	fd = image_file(&image, sizeof(image));
	assert_int_equal(util_stat_read(fd, &stat), 0);
	assert_int_equal(util_stat_each(&stat, USIW_RES_MR, mr_see, &seen), 0);
	at = (off_t)offsetof(struct image, mr) + 2 * 64;
	pwrite(fd, &len, sizeof(len), at + offsetof(struct usiw_res_mr, len));
	assert_int_equal(
		util_stat_again(&stat, USIW_RES_MR, seen.place, &seen.mr), 0);
	assert_int_equal(seen.mr.len, len);
	/* Another one has its slot. */
	pwrite(fd, &seq, sizeof(seq), at);
	pwrite(fd, &id, sizeof(id), at + offsetof(struct usiw_res_head, id));
	assert_int_equal(
		util_stat_again(&stat, USIW_RES_MR, seen.place, &seen.mr),
		-ENOENT);
	seq = 0;
	pwrite(fd, &seq, sizeof(seq), at);
	assert_int_equal(
		util_stat_again(&stat, USIW_RES_MR, seen.place, &seen.mr),
		-ENOENT);
	seen.place.slot = MRS;
	assert_int_equal(
		util_stat_again(&stat, USIW_RES_MR, seen.place, &seen.mr),
		-ENOENT);
	close(fd);
}

/* ---- while it changes ---------------------------------------------------- */

struct changer {
	struct usiw_res_mr *mr;
	_Atomic bool is_over;
};

/* All fields have the same value, except in the middle of a change. */
static void *change(void *arg)
{
	struct changer *changer = arg;
	struct usiw_res_mr *mr = changer->mr;

	for (uint32_t n = 1; !changer->is_over; n++) {
		atomic_store_explicit(&mr->head.seq, 2 * n + 1,
				      memory_order_relaxed);
		atomic_thread_fence(memory_order_release);
		*(volatile uint64_t *)&mr->addr = n;
		*(volatile uint64_t *)&mr->len = n;
		*(volatile uint64_t *)&mr->iova = n;
		atomic_store_explicit(&mr->head.seq, 2 * n + 2,
				      memory_order_release);
		if (n % 16 == 0)
			usleep(1);
	}
	return NULL;
}

static int mr_is_one(void *arg, const void *resource,
		     struct util_stat_place place)
{
	const struct usiw_res_mr *mr = resource;

	(void)place;
	if (mr->head.id != 1)
		return 0;
	assert_int_equal(mr->addr, mr->len);
	assert_int_equal(mr->addr, mr->iova);
	++*(uint32_t *)arg;
	return 0;
}

CASE(takes_a_changing_resource_of_one_moment)
{
	struct changer changer = { .is_over = false };
	struct util_stat stat;
	uint32_t seen_cnt = 0;
	struct image *image, made;
	pthread_t thread;
	int fd;

	image_make(&made);
	made.mr[1].len = 0;
	fd = image_file(&made, sizeof(made));
	image = mmap(NULL, sizeof(*image), PROT_READ | PROT_WRITE, MAP_SHARED,
		     fd, 0);
	assert_true(image != MAP_FAILED);
	changer.mr = &image->mr[1];
	assert_int_equal(util_stat_read(fd, &stat), 0);
	assert_int_equal(pthread_create(&thread, NULL, change, &changer), 0);
	while (seen_cnt < 20000)
		assert_int_equal(util_stat_each(&stat, USIW_RES_MR, mr_is_one,
						&seen_cnt),
				 0);
	changer.is_over = true;
	pthread_join(thread, NULL);
	munmap(image, sizeof(*image));
	close(fd);
}
