/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The reader of counter pages and resources.  The input is a page's numbers of
 * counters and parts, the directory behind it, and the slots.
 *
 * What the reader returns must be in the file, and have printable texts, and be
 * found again: nobody changes the file.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/stat-read.h"

struct input {
	uint32_t count, part_cnt;
	uint32_t chunk_cnt;
	uint32_t reserved;
	struct usiw_res_chunk chunk[4];
};

static void text_check(const char *text, size_t size)
{
	size_t len = strnlen(text, size);

	fuzz_assert(len < size);
	for (size_t i = 0; i < len; i++)
		fuzz_assert(text[i] >= ' ' && text[i] <= '~');
}

static int each(void *arg, const void *resource, struct util_stat_place place)
{
	const struct util_stat *stat = arg;
	const struct usiw_res_device *device = resource;
	enum usiw_res_kind kind = stat->chunk[place.chunk].kind;
	_Alignas(USIW_CACHE_LINE) uint8_t copy[sizeof(*device)];

	fuzz_assert(place.chunk < stat->chunk_cnt);
	fuzz_assert(place.slot < stat->chunk[place.chunk].slot_cnt);
	if (kind == USIW_RES_DEVICE) {
		text_check(device->name, sizeof(device->name));
		text_check(device->ifname, sizeof(device->ifname));
	}
	memcpy(copy, resource, usiw_res_size(kind));
	fuzz_assert(util_stat_again(stat, kind, place, copy) == 0);
	fuzz_assert(memcmp(copy, resource, usiw_res_size(kind)) == 0);
	return 0;
}

static void stat_check(struct util_stat *stat)
{
	text_check(stat->program, sizeof(stat->program));
	fuzz_assert(stat->counter_cnt <= USIW_STAT_MAX);
	for (uint32_t i = 0; i < stat->counter_cnt; i++)
		text_check(stat->counter[i].name,
			   sizeof(stat->counter[i].name));
	for (uint32_t kind = 1; kind < USIW_RES_KIND_CNT; kind++)
		fuzz_assert(util_stat_each(stat, kind, each, stat) == 0);
}

static void file_write(int fd, const void *octets, size_t len, size_t at)
{
	fuzz_assert(pwrite(fd, octets, len, (off_t)at) == (ssize_t)len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct usiw_stat_file file;
	struct util_stat stat;
	struct input in = { 0 };
	size_t head = size < sizeof(in) ? size : sizeof(in);
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	memcpy(&in, data, head);
	file.page.magic = USIW_STAT_MAGIC;
	file.page.version = USIW_STAT_VERSION;
	file.page.count = in.count;
	file.page.part_cnt = in.part_cnt;
	file.res.chunk_cnt = in.chunk_cnt;
	memcpy(file.res.chunk, in.chunk, sizeof(in.chunk));
	/* What follows begins with the texts. */
	size -= head;
	memcpy(file.res.program, data + head,
	       size < sizeof(file.res.program) ? size
					       : sizeof(file.res.program));
	memcpy(file.page.stat[0].name, file.res.program,
	       sizeof(file.res.program));
	fuzz_assert(fd >= 0);
	file_write(fd, &file, sizeof(file), 0);
	file_write(fd, data + head, size, sizeof(file));
	if (util_stat_read(fd, &stat) == 0)
		stat_check(&stat);
	close(fd);
	return 0;
}
