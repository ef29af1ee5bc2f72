/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Copies a counter page, and resources, while their process writes to them. */
#include "stat-read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "alloc.h"
#include "page-find.h"
#include "plain-text.h"

/* A change takes less than a microsecond, a copy more.  A process that was
 * killed during a change leaves an odd number for ever. */
#define TRIES 100

/* Resources that are copied at once, octets. */
#define BLOCK_SIZE 65536u

/* All chunks together.  rnic_limits() allows less.  A hostile process may name
 * the same octets many times, or a hole of any size. */
#define CHUNKS_SIZE_MAX (UINT64_C(512) << 20)

/* ---- the page ------------------------------------------------------------ */

static uint64_t counter_sum(const struct usiw_stat_page *page, uint32_t idx)
{
	uint64_t sum = UTIL_STAT_LIVE(page->stat[idx].value);

	for (uint32_t i = 0; i < page->part_cnt; i++)
		sum += UTIL_STAT_LIVE(page->part[i].value[idx]);
	return sum;
}

static int counters_take(const struct usiw_stat_page *page,
			 struct util_stat *stat)
{
	if (page->count > USIW_STAT_MAX || page->part_cnt > USIW_STAT_PARTS)
		return -EPROTO;
	stat->counter_cnt = page->count;
	for (uint32_t i = 0; i < page->count; i++) {
		struct util_stat_counter *to = &stat->counter[i];

		memcpy(to->name, page->stat[i].name, sizeof(to->name));
		util_plain_text(to->name, sizeof(to->name));
		to->value = counter_sum(page, i);
	}
	return 0;
}

static uint64_t chunk_size(const struct usiw_res_chunk *chunk)
{
	return (uint64_t)chunk->slot_cnt * chunk->slot_size;
}

static bool chunk_is_sane(const struct usiw_res_chunk *chunk,
			  uint64_t file_size)
{
	return chunk->slot_size != 0 &&
	       chunk->slot_size == usiw_res_size(chunk->kind) &&
	       chunk->offset % USIW_CACHE_LINE == 0 &&
	       chunk->offset >= sizeof(struct usiw_stat_file) &&
	       chunk->offset <= file_size &&
	       chunk_size(chunk) <= file_size - chunk->offset;
}

static int resources_take(const struct usiw_res_dir *dir, uint32_t chunk_cnt,
			  uint64_t file_size, struct util_stat *stat)
{
	uint64_t size = 0;

	if (chunk_cnt > USIW_RES_CHUNK_MAX)
		return -EPROTO;
	stat->start_ns = dir->start_ns;
	memcpy(stat->program, dir->program, sizeof(stat->program));
	util_plain_text(stat->program, sizeof(stat->program));
	for (int i = 0; i < USIW_RES_KIND_CNT; i++) {
		stat->used[i] = UTIL_STAT_LIVE(dir->used[i]);
		stat->unseen[i] = UTIL_STAT_LIVE(dir->unseen[i]);
	}
	stat->chunk_cnt = chunk_cnt;
	for (uint32_t i = 0; i < chunk_cnt; i++) {
		stat->chunk[i] = dir->chunk[i];
		if (!chunk_is_sane(&stat->chunk[i], file_size))
			return -EPROTO;
		size += chunk_size(&stat->chunk[i]);
	}
	return size <= CHUNKS_SIZE_MAX ? 0 : -EPROTO;
}

/* @ret_chunk_cnt: read before the entries that it counts. */
static int file_read(int fd, struct usiw_stat_file *ret_file,
		     uint32_t *ret_chunk_cnt)
{
	const uint64_t at = offsetof(struct usiw_stat_file, res.chunk_cnt);
	ssize_t got =
		util_page_read(fd, ret_chunk_cnt, sizeof(*ret_chunk_cnt), at);

	/* acquire: pairs with the release after an entry was written */
	atomic_thread_fence(memory_order_acquire);
	if (got >= 0)
		got = util_page_read(fd, ret_file, sizeof(*ret_file), 0);
	if (got < 0)
		return (int)got;
	if (got == 0) /* its size is set after it is made */
		return -EAGAIN;
	if ((size_t)got < sizeof(ret_file->page.magic))
		return -EPROTO;
	if (ret_file->page.magic == 0)
		return -EAGAIN;
	if (ret_file->page.magic != USIW_STAT_MAGIC)
		return -EPROTO;
	if (ret_file->page.version != USIW_STAT_VERSION)
		return -EPROTONOSUPPORT;
	return (size_t)got < sizeof(*ret_file) ? -EPROTO : 0;
}

int util_stat_read(int fd, struct util_stat *ret_stat)
{
	struct usiw_stat_file *file = util_alloc_lines(1, sizeof(*file));
	struct util_stat stat = { .fd = fd };
	uint32_t chunk_cnt = 0;
	struct stat st;
	int ret;

	if (!file)
		return -ENOMEM;
	ret = file_read(fd, file, &chunk_cnt);
	/* After that: what is counted is in the file. */
	if (ret == 0 && fstat(fd, &st) < 0)
		ret = -errno;
	if (ret == 0)
		ret = counters_take(&file->page, &stat);
	if (ret == 0)
		ret = resources_take(&file->res, chunk_cnt,
				     (uint64_t)st.st_size, &stat);
	stat.pid = file->page.pid;
	free(file);
	if (ret == 0)
		*ret_stat = stat;
	return ret;
}

bool util_stat_counter(const struct util_stat *stat, const char *name,
		       uint64_t *ret_value)
{
	for (uint32_t i = 0; i < stat->counter_cnt; i++) {
		if (strcmp(stat->counter[i].name, name) != 0)
			continue;
		*ret_value = stat->counter[i].value;
		return true;
	}
	return false;
}

/* ---- resources ----------------------------------------------------------- */

static uint32_t seq_of(const void *slot)
{
	const struct usiw_res_head *head = slot;

	return UTIL_STAT_LIVE(head->seq);
}

static void slot_check(enum usiw_res_kind kind, void *slot)
{
	struct usiw_res_device *device = slot;

	if (kind != USIW_RES_DEVICE)
		return;
	util_plain_text(device->name, sizeof(device->name));
	util_plain_text(device->ifname, sizeof(device->ifname));
}

/* Memory for copies of one kind. */
struct copy {
	const struct util_stat *stat;
	enum usiw_res_kind kind;
	uint32_t size, live; /* of a slot */
	uint8_t *first, *again;
};

static int copy_init(struct copy *copy, const struct util_stat *stat,
		     enum usiw_res_kind kind, uint32_t slot_cnt)
{
	*copy = (struct copy){
		.stat = stat,
		.kind = kind,
		.size = usiw_res_size(kind),
		.live = usiw_res_live(kind),
	};
	copy->first = util_alloc_lines(2 * (size_t)slot_cnt, copy->size);
	copy->again = copy->first + (size_t)slot_cnt * copy->size;
	return copy->first ? 0 : -ENOMEM;
}

/* Twice, one after the other.  Return: slots copied; -errno. */
static int copy_slots(const struct copy *copy, uint64_t offset, uint32_t cnt)
{
	ssize_t got = util_page_read(copy->stat->fd, copy->first,
				     (size_t)cnt * copy->size, offset);

	if (got < 0)
		return (int)got;
	/* acquire: the second copy is of a later moment */
	atomic_thread_fence(memory_order_acquire);
	got = util_page_read(copy->stat->fd, copy->again, (size_t)got, offset);
	return got < 0 ? (int)got : (int)(got / copy->size);
}

/* The identifying part of the @i-th slot is of one moment. */
static bool copy_is_whole(const struct copy *copy, uint32_t i)
{
	size_t at = (size_t)i * copy->size;

	return !(seq_of(copy->again + at) & 1) &&
	       memcmp(copy->first + at, copy->again + at, copy->live) == 0;
}

/* A slot that was changing.  Return: 1: it is in @ret_slot; 0: it is free, or
 * changes for ever; -errno. */
static int slot_retry(const struct util_stat *stat, enum usiw_res_kind kind,
		      uint64_t offset, void *ret_slot)
{
	struct copy copy;
	int ret = copy_init(&copy, stat, kind, 1);

	for (int i = 0; ret == 0 && i < TRIES; i++) {
		ret = copy_slots(&copy, offset, 1);
		if (ret == 0)
			break; /* the file was cut */
		if (ret == 1 && !copy_is_whole(&copy, 0))
			ret = 0;
	}
	if (ret == 1)
		memcpy(ret_slot, copy.again, copy.size);
	free(copy.first);
	return ret;
}

/* Return: slots that were looked at, 0: there are no more; -errno.
 * *ret_status: what @each returned. */
static int block_each(const struct copy *copy, struct util_stat_place place,
		      util_stat_each_fn each, void *arg, int *ret_status)
{
	const struct usiw_res_chunk *chunk = &copy->stat->chunk[place.chunk];
	uint64_t offset = chunk->offset + (uint64_t)place.slot * copy->size;
	uint32_t left = chunk->slot_cnt - place.slot;
	uint32_t cnt = BLOCK_SIZE / copy->size;
	int got, ret = 1;

	got = copy_slots(copy, offset, cnt < left ? cnt : left);
	for (int i = 0; i < got && *ret_status == 0; i++, place.slot++) {
		uint8_t *slot = copy->again + (size_t)i * copy->size;

		if (!copy_is_whole(copy, (uint32_t)i))
			ret = slot_retry(copy->stat, copy->kind,
					 offset + (uint64_t)i * copy->size,
					 slot);
		if (ret < 0)
			return ret;
		if (ret == 1 && seq_of(slot) != 0) {
			slot_check(copy->kind, slot);
			*ret_status = each(arg, slot, place);
		}
		ret = 1;
	}
	return got;
}

static int chunk_each(const struct copy *copy, uint32_t chunk_idx,
		      util_stat_each_fn each, void *arg)
{
	struct util_stat_place place = { .chunk = chunk_idx };
	uint32_t cnt = copy->stat->chunk[chunk_idx].slot_cnt;
	int ret = 1, status = 0;

	while (ret > 0 && status == 0 && place.slot < cnt) {
		ret = block_each(copy, place, each, arg, &status);
		place.slot += (uint32_t)ret;
	}
	return ret < 0 ? ret : status;
}

int util_stat_each(const struct util_stat *stat, enum usiw_res_kind kind,
		   util_stat_each_fn each, void *arg)
{
	struct copy copy;
	int ret;

	ret = copy_init(&copy, stat, kind, BLOCK_SIZE / usiw_res_size(kind));
	for (uint32_t i = 0; ret == 0 && i < stat->chunk_cnt; i++)
		if (stat->chunk[i].kind == kind)
			ret = chunk_each(&copy, i, each, arg);
	free(copy.first);
	return ret;
}

int util_stat_again(const struct util_stat *stat, enum usiw_res_kind kind,
		    struct util_stat_place place, void *resource)
{
	const struct usiw_res_chunk *chunk = &stat->chunk[place.chunk];
	const struct usiw_res_head *old = resource;
	struct copy copy;
	int ret;

	if (place.chunk >= stat->chunk_cnt || chunk->kind != kind ||
	    place.slot >= chunk->slot_cnt)
		return -ENOENT;
	ret = copy_init(&copy, stat, kind, 1);
	if (ret < 0)
		return ret;
	ret = slot_retry(stat, kind,
			 chunk->offset + (uint64_t)place.slot * copy.size,
			 copy.first);
	if (ret == 1) {
		const struct usiw_res_head *now = (const void *)copy.first;

		ret = -ENOENT;
		if (seq_of(now) != 0 && now->id == old->id &&
		    now->made_ns == old->made_ns) {
			slot_check(kind, copy.first);
			memcpy(resource, copy.first, copy.size);
			ret = 0;
		}
	} else if (ret == 0) {
		ret = -ENOENT;
	}
	free(copy.first);
	return ret;
}
