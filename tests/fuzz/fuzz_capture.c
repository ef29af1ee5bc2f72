/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Records of a hostile process, as usiw capture reads them: one octet of snap
 * length and room, then the ring. Whatever is in it, the file has whole blocks.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"

#define RING_SIZE 65536u
#define FILE_SIZE (256u << 10)

static void check_blocks(const struct pcapng *file)
{
	uint32_t len, again;

	for (size_t at = 0; at < file->len; at += len) {
		fuzz_assert(file->len - at >= 12);
		memcpy(&len, file->octets + at + 4, sizeof(len));
		fuzz_assert(len >= 12 && len % 4 == 0);
		fuzz_assert(len <= file->len - at);
		memcpy(&again, file->octets + at + len - 4, sizeof(again));
		fuzz_assert(again == len);
	}
}

static void take_all(struct capture *cap, uint8_t *data, struct pcapng *file)
{
	static union {
		struct usiw_record record;
		uint8_t octets[RING_SIZE];
	} taken;
	struct usiw_record_ring ring = { 0 };
	uint64_t lost = 0;
	int64_t len;

	while ((len = usiw_record_take(&ring, data, RING_SIZE, &taken,
				       sizeof(taken))) > 0) {
		fuzz_assert((size_t)len >= sizeof(taken.record));
		fuzz_assert((size_t)len <= sizeof(taken));
		/* Both ends, and a counter that may be anything. */
		lost = taken.record.reserved;
		capture_take(cap, taken.record.tid & 1, &taken.record,
			     (size_t)len, lost, file);
		if (taken.record.tid & 2) {
			check_blocks(file);
			file->len = 0;
			(void)capture_begin_file(cap, file);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct capture_filter filter;
	struct pcapng file = { .size = FILE_SIZE };
	struct capture *cap;
	uint8_t *ring;

	if (size < 1 || size > RING_SIZE)
		return 0;
	if (data[0] & 1)
		file.size = 4096;
	file.octets = malloc(file.size);
	ring = calloc(1, RING_SIZE);
	cap = capture_new(data[0] & 2 ? CAPTURE_SNAP_MIN : CAPTURE_SNAP_MAX,
			  &filter);
	fuzz_assert(file.octets && ring && cap);
	fuzz_assert(capture_begin_file(cap, &file) == 0);
	fuzz_assert(capture_add_process(cap, 1, "a") == 0);
	fuzz_assert(capture_add_process(cap, 2, "b") == 1);
	memcpy(ring, data + 1, size - 1);
	take_all(cap, ring, &file);
	capture_end_process(cap, 0, 0, &file);
	capture_end_process(cap, 1, 0, &file);
	capture_end_file(cap, 0, &file);
	check_blocks(&file);
	capture_free(cap);
	free(ring);
	free(file.octets);
	return 0;
}
