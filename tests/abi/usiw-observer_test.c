/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Records: their order, the end of the ring, many threads, nonsense. */
#include "test.h"

#include <pthread.h>
#include <stdbool.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "abi/usiw-observer.h"

#define SIZE 4096u
#define HEADER sizeof(struct usiw_record)

static struct usiw_record_ring ring;
static _Alignas(8) unsigned char data[SIZE];

/* What a test takes out. */
static union {
	struct usiw_record record;
	unsigned char octets[SIZE];
} taken;

static int setup(void **state)
{
	(void)state;
	memset(&ring, 0, sizeof(ring));
	memset(data, 0, sizeof(data));
	return 0;
}

static bool put(uint16_t kind, uint32_t len)
{
	struct usiw_record *record = usiw_record_begin(&ring, data, SIZE, len);

	if (!record)
		return false;
	record->kind = kind;
	memset(record + 1, (int)kind, len);
	usiw_record_end(record, len);
	return true;
}

static int64_t take(void)
{
	return usiw_record_take(&ring, data, SIZE, &taken, sizeof(taken));
}

static bool took(uint16_t kind, uint32_t len)
{
	if (take() != (int64_t)(HEADER + len) || taken.record.kind != kind)
		return false;
	for (uint32_t i = 0; i < len; i++)
		if (taken.octets[HEADER + i] != (unsigned char)kind)
			return false;
	return true;
}

/* Lengths that leave every rest before the end of the ring. */
CASE_WITH(keeps_order_and_octets_over_the_end, setup, NULL)
{
	uint32_t len = 0;

	for (uint16_t i = 1; i < 20000; i++, len = (len + 7) % 1000) {
		assert_true(put(i, len));
		assert_true(put((uint16_t)(i + 1), 3));
		assert_true(took(i, len));
		assert_true(took((uint16_t)(i + 1), 3));
		assert_int_equal(take(), 0);
	}
	assert_int_equal(ring.lost, 0);
}

CASE_WITH(counts_what_finds_no_room, setup, NULL)
{
	uint16_t cnt = 0;

	while (put((uint16_t)(cnt + 1), 100))
		cnt++;
	assert_int_equal(cnt, SIZE / (HEADER + 104));
	assert_false(put(1, SIZE));
	assert_int_equal(ring.lost, 2);
	for (uint16_t i = 0; i < cnt; i++)
		assert_true(took((uint16_t)(i + 1), 100));
	assert_int_equal(take(), 0);
	assert_true(put(7, 100));
	assert_true(took(7, 100));
}

CASE_WITH(shows_no_record_before_its_end, setup, NULL)
{
	struct usiw_record *first = usiw_record_begin(&ring, data, SIZE, 8);

	first->kind = 1;
	assert_true(put(2, 8));
	assert_int_equal(take(), 0);
	memset(first + 1, 1, 8);
	usiw_record_end(first, 8);
	assert_true(took(1, 8));
	assert_true(took(2, 8));
}

CASE_WITH(cuts_off_what_the_reader_has_no_room_for, setup, NULL)
{
	assert_true(put(9, 100));
	assert_true(put(10, 1));
	assert_int_equal(
		usiw_record_take(&ring, data, SIZE, &taken, HEADER + 4),
		HEADER + 4);
	assert_true(took(10, 1));
}

#define THREADS 4
#define EACH 20000

static void *writer(void *arg)
{
	uint16_t kind = (uint16_t)(uintptr_t)arg;

	for (uint32_t i = 0; i < EACH; i++)
		while (!put(kind, i % 90))
			sched_yield();
	return NULL;
}

CASE_WITH(takes_each_record_of_many_threads_once, setup, NULL)
{
	uint32_t seen[THREADS] = { 0 }, all = 0;
	pthread_t thread[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, writer,
						(void *)(i + 1)),
				 0);
	while (all < THREADS * EACH) {
		int64_t len = take();
		uint32_t from;

		assert_true(len >= 0);
		if (!len) {
			sched_yield();
			continue;
		}
		from = taken.record.kind - 1u;
		assert_true(from < THREADS);
		assert_int_equal(len, HEADER + seen[from] % 90);
		seen[from]++;
		all++;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(take(), 0);
}

/* A process that writes what it likes. */
static const struct {
	uint32_t len;
	uint64_t head;
} nonsense[] = {
	{ 1, 64 },
	{ HEADER - 1, 64 },
	{ SIZE + 8, 64 },
	{ USIW_RECORD_GAP, 64 },
	{ USIW_RECORD_GAP | 16, 64 },
	{ USIW_RECORD_GAP | (SIZE + 8), 64 },
	{ 0x7fffffff, 64 },
	{ 0xffffffff, 64 },
};

CASE_WITH(refuses_nonsense, setup, NULL)
{
	for (size_t i = 0; i < ARRAY_LEN(nonsense); i++) {
		setup(NULL);
		ring.head = nonsense[i].head;
		memcpy(data, &nonsense[i].len, sizeof(nonsense[i].len));
		if (take() != -1)
			fail_msg("row %zu", i);
	}
}

/* A process that writes the command's number, too: behind the ring nothing is
 * accessed. */
CASE_WITH(refuses_a_tail_between_records, setup, NULL)
{
	static _Alignas(8) unsigned char place[SIZE + 8];

	for (uint32_t odd = 1; odd < 8; odd++) {
		uint32_t len = HEADER + odd; /* up to the end of the ring */

		memset(place, 0, SIZE);
		memset(place + SIZE, 0xff, 8);
		memcpy(place + SIZE - len, &len, sizeof(len));
		ring.tail = SIZE - len;
		if (usiw_record_take(&ring, place, SIZE, &taken,
				     sizeof(taken)) != -1)
			fail_msg("%u octets before the end", len);
		for (int i = 0; i < 8; i++)
			assert_int_equal(place[SIZE + i], 0xff);
	}
}

/* A command that writes what it likes: the process stays inside its ring. */
CASE_WITH(survives_a_wrong_tail, setup, NULL)
{
	static const uint64_t tails[] = { 1, 8, UINT64_MAX, UINT64_MAX - 7,
					  1u << 31 };

	for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
		setup(NULL);
		ring.tail = tails[i];
		(void)put(1, 100);
		ring.head = 12345;
		assert_false(put(1, 100));
	}
}
