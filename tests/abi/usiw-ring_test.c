/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Compares usiw-ring.h with a trivial queue, for indices that start anywhere
 * and wrap. Then runs one producer and one consumer at once.
 */
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "abi/usiw-ring.h"

static struct usiw_ring ring_new(uint32_t depth, uint32_t stride,
				 uint32_t start)
{
	size_t size = usiw_ring_size(depth, stride);
	struct usiw_ring ring;
	void *mem;

	size = (size + USIW_CACHE_LINE - 1) / USIW_CACHE_LINE * USIW_CACHE_LINE;
	mem = aligned_alloc(USIW_CACHE_LINE, size);
	assert_non_null(mem);
	memset(mem, 0, size);
	usiw_ring_init(&ring, mem, depth, stride);
	atomic_store(&ring.hdr->prod_idx, start);
	atomic_store(&ring.hdr->cons_idx, start);
	return ring;
}

static const struct {
	uint32_t cnt, slots;
} slot_cnts[] = {
	{ 1, 1 },	{ 2, 2 },	{ 3, 4 },
	{ 4, 4 },	{ 5, 8 },	{ 1023, 1024 },
	{ 1024, 1024 }, { 1025, 2048 }, { 1u << 31, 1u << 31 },
};

CASE(has_a_power_of_two_of_slots)
{
	for (size_t i = 0; i < ARRAY_LEN(slot_cnts); i++)
		assert_int_equal(usiw_ring_slot_cnt(slot_cnts[i].cnt),
				 slot_cnts[i].slots);
	assert_int_equal(usiw_ring_size(3, 48), 128 + 4 * 48);
	/* The size is computed in size_t: the product does not wrap at 32
	 * bits. */
	assert_true(usiw_ring_size(1u << 30, 64) == 128 + ((size_t)1 << 36));
}

/* The trivial queue: an array and a count. */
struct oracle {
	uint64_t value[64];
	uint32_t cnt;
};

static void oracle_put(struct oracle *o, uint64_t value)
{
	o->value[o->cnt++] = value;
}

static void oracle_take(struct oracle *o, uint32_t cnt)
{
	memmove(o->value, o->value + cnt, (o->cnt - cnt) * sizeof(o->value[0]));
	o->cnt -= cnt;
}

static void check_against_oracle(const struct usiw_ring *ring,
				 const struct oracle *o)
{
	assert_int_equal(usiw_ring_used(ring), o->cnt);
	for (uint32_t i = 0; i < o->cnt; i++) {
		const uint64_t *entry = usiw_ring_peek(ring, i);

		assert_non_null(entry);
		assert_true(*entry == o->value[i]);
	}
	assert_null(usiw_ring_peek(ring, o->cnt));
	for (uint32_t i = 0; i <= ring->depth; i++) {
		if (o->cnt + i < ring->depth)
			assert_non_null(usiw_ring_reserve(ring, i));
		else
			assert_null(usiw_ring_reserve(ring, i));
	}
}

static void does_what_a_simple_queue_does(uint32_t depth, uint32_t start)
{
	struct usiw_ring ring = ring_new(depth, 16, start);
	struct oracle o = { .cnt = 0 };
	uint64_t next = 1;
	unsigned seed = depth * 7919u + start;

	for (int step = 0; step < 2000; step++) {
		uint32_t room = depth - o.cnt;
		uint32_t n;

		seed = seed * 1103515245u + 12345u;
		n = (seed >> 16) % 5;
		if (seed & 0x80000000u) {
			n = n > room ? room : n;
			for (uint32_t i = 0; i < n; i++) {
				uint64_t *slot = usiw_ring_reserve(&ring, i);

				assert_non_null(slot);
				*slot = next;
				oracle_put(&o, next++);
			}
			/* Entries are not visible before they are committed. */
			assert_int_equal(usiw_ring_used(&ring), o.cnt - n);
			usiw_ring_commit(&ring, n);
		} else {
			n = n > o.cnt ? o.cnt : n;
			usiw_ring_consume(&ring, n);
			oracle_take(&o, n);
		}
		check_against_oracle(&ring, &o);
	}
	free(ring.hdr);
}

CASE(behaves_as_a_queue_for_every_depth_and_start)
{
	static const uint32_t depths[] = { 1, 2, 3, 5, 8, 13, 64 };
	static const uint32_t starts[] = { 0, 1, 0x7ffffff0u, 0xfffffff0u,
					   0xffffffffu };

	for (size_t i = 0; i < ARRAY_LEN(depths); i++)
		for (size_t j = 0; j < ARRAY_LEN(starts); j++)
			does_what_a_simple_queue_does(depths[i], starts[j]);
}

CASE(reports_pending_entries_past_the_wrap)
{
	struct usiw_ring ring = ring_new(4, 16, 0xfffffffeu);

	assert_false(usiw_ring_slot_pending(&ring, 0xfffffffeu));
	usiw_ring_commit(&ring, 3);
	assert_true(usiw_ring_slot_pending(&ring, 0xfffffffeu));
	assert_true(usiw_ring_slot_pending(&ring, 0xffffffffu));
	assert_true(usiw_ring_slot_pending(&ring, 0));
	assert_false(usiw_ring_slot_pending(&ring, 1));
	assert_ptr_equal(usiw_ring_slot(&ring, 0xfffffffeu),
			 usiw_ring_peek(&ring, 0));
	free(ring.hdr);
}

CASE(gives_each_slot_memory_of_its_own)
{
	struct usiw_ring ring = ring_new(5, 48, 0);

	for (uint32_t i = 0; i < 8; i++)
		memset(usiw_ring_slot(&ring, i), (int)i + 1, 48);
	for (uint32_t i = 0; i < 8; i++) {
		const uint8_t *slot = usiw_ring_slot(&ring, i);

		for (uint32_t j = 0; j < 48; j++)
			assert_int_equal(slot[j], i + 1);
		assert_ptr_equal(slot, usiw_ring_slot(&ring, i + 8));
	}
	assert_int_equal(atomic_load(&ring.hdr->prod_idx), 0);
	assert_int_equal(atomic_load(&ring.hdr->cons_idx), 0);
	free(ring.hdr);
}

/* ---- two threads ---- */

/* A full ring causes a thread switch, which takes a time slice beside busy
 * loops. */
#define ENTRY_CNT 20000u

static void *produce(void *arg)
{
	const struct usiw_ring *ring = arg;

	for (uint32_t i = 0; i < ENTRY_CNT;) {
		uint64_t *slot = usiw_ring_reserve(ring, 0);

		if (!slot) {
			sched_yield();
			continue;
		}
		slot[0] = i;
		slot[1] = ~(uint64_t)i;
		usiw_ring_commit(ring, 1);
		i++;
	}
	return NULL;
}

CASE(hands_over_whole_entries_in_order)
{
	struct usiw_ring ring = ring_new(7, 16, 0xffffff00u);
	pthread_t thread;
	uint32_t bad = 0;

	assert_int_equal(pthread_create(&thread, NULL, produce, &ring), 0);
	for (uint32_t i = 0; i < ENTRY_CNT;) {
		const uint64_t *slot = usiw_ring_peek(&ring, 0);

		if (!slot) {
			sched_yield();
			continue;
		}
		bad += slot[0] != i || slot[1] != ~(uint64_t)i;
		usiw_ring_consume(&ring, 1);
		i++;
	}
	pthread_join(thread, NULL);
	assert_int_equal(bad, 0);
	free(ring.hdr);
}
