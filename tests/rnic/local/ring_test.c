/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* ring.c: octets in order, and indices that lie. */
#define _GNU_SOURCE
#include "../../harness/random.h"
#include "../../harness/test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "local/ring.h"
#include "os/guard.h"

#define SIZE ((size_t)RNIC_RING_SIZE)
#define PAGE 4096u

/* Both ends of one ring. */
struct ends {
	struct rnic_ring_shared *shared;
	uint8_t *data;
	struct rnic_ring writer, reader;
};

static void ends_open(struct ends *e)
{
	e->shared = aligned_alloc(RNIC_RING_LINE, sizeof(*e->shared));
	e->data = malloc(SIZE);
	assert_non_null(e->shared);
	assert_non_null(e->data);
	memset(e->shared, 0, sizeof(*e->shared));
	memset(e->data, 0xee, SIZE);
	rnic_ring_init(&e->writer, e->shared, e->data);
	rnic_ring_init(&e->reader, e->shared, e->data);
}

static void ends_close(struct ends *e)
{
	free(e->shared);
	free(e->data);
}

static uint8_t octet_at(uint64_t i)
{
	return (uint8_t)(i + i / 251 * 7 + i / 65521 * 13);
}

/* Octets [@at, @at + @len) of a stream that tells each place from the
 * others. */
static void fill(uint8_t *mem, uint64_t at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		mem[i] = octet_at(at + i);
}

static bool is_filled(const uint8_t *mem, uint64_t at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (mem[i] != octet_at(at + i))
			return false;
	return true;
}

static ssize_t put(struct rnic_ring *ring, uint8_t *mem, size_t len)
{
	struct iovec iov = { mem, len };

	return rnic_ring_write(ring, &iov, 1, 0, SIZE_MAX);
}

static ssize_t get(struct rnic_ring *ring, uint8_t *mem, size_t len)
{
	struct iovec iov = { mem, len };

	return rnic_ring_read(ring, &iov, 1, 0, SIZE_MAX);
}

/* Each size begins at another place, and the end of the ring is passed. */
CASE(carries_octets_in_order)
{
	static const size_t sizes[] = { 1,    2,     63,    64,	      65,
					4095, 65536, 65537, SIZE - 1, SIZE };
	uint8_t *in = malloc(SIZE), *out = malloc(SIZE);
	uint64_t at = 0;
	struct ends e;

	ends_open(&e);
	for (size_t i = 0; i < ARRAY_LEN(sizes) * 8; i++) {
		size_t size = sizes[i % ARRAY_LEN(sizes)];

		fill(in, at, size);
		assert_false(rnic_ring_has_octets(&e.reader));
		assert_int_equal(put(&e.writer, in, size), size);
		assert_true(rnic_ring_has_octets(&e.reader));
		assert_int_equal(get(&e.reader, out, SIZE), size);
		assert_true(is_filled(out, at, size));
		at += size;
	}
	assert_int_equal(get(&e.reader, out, SIZE), 0);
	ends_close(&e);
	free(in);
	free(out);
}

/* The line of the index has few octets, too: the reader takes no other. */
CASE(few_octets_are_beside_the_index)
{
	static const size_t sizes[] = { 1,
					8,
					28,
					RNIC_RING_INLINE - 1,
					RNIC_RING_INLINE,
					RNIC_RING_INLINE + 1,
					1000 };
	uint8_t in[1000], out[1000];
	uint64_t at = SIZE - 100; /* some are at both ends of the ring */
	struct ends e;

	ends_open(&e);
	e.writer.own = e.writer.peer = at;
	e.reader.own = e.reader.peer = at;
	for (size_t i = 0; i < 4 * ARRAY_LEN(sizes); i++) {
		size_t size = sizes[i % ARRAY_LEN(sizes)];

		fill(in, at, size);
		assert_int_equal(put(&e.writer, in, size), size);
		memset(e.data, 0xee, SIZE);
		assert_int_equal(get(&e.reader, out, sizeof(out)), size);
		assert_int_equal(is_filled(out, at, size),
				 size <= RNIC_RING_INLINE);
		at += size;
	}
	ends_close(&e);
}

/* A hostile writer says that more octets are there than the line holds. */
CASE(no_copy_is_longer_than_its_line)
{
	uint8_t out[RNIC_RING_INLINE + 16];

	for (size_t size = RNIC_RING_INLINE + 1; size <= sizeof(out); size++) {
		struct ends e;

		ends_open(&e);
		memset(e.shared->inline_octets, 0xbb, RNIC_RING_INLINE);
		e.shared->inline_from = 1;
		e.shared->head = size;
		assert_int_equal(get(&e.reader, out, sizeof(out)), size);
		for (size_t i = 0; i < size; i++)
			assert_int_equal(out[i], 0xee);
		ends_close(&e);
	}
}

/* Whole words are shared: the rest of the last one is no octet of this
 * process. */
CASE(shares_nothing_but_the_octets)
{
	struct ends e;

	ends_open(&e);
	for (size_t size = 1; size <= RNIC_RING_INLINE; size++) {
		uint8_t before[RNIC_RING_INLINE], mem[RNIC_RING_INLINE];
		uint8_t shared[RNIC_RING_INLINE];

		/* Leaves its octets where the next copy is made. */
		memset(before, 0xff, sizeof(before));
		put(&e.writer, before, sizeof(before));
		memset(mem, 0x55, sizeof(mem));
		put(&e.writer, mem, size);
		memcpy(shared, e.shared->inline_octets, sizeof(shared));
		for (size_t i = 0; i < (size + 7) / 8 * 8; i++)
			assert_int_equal(shared[i], i < size ? 0x55 : 0);
	}
	ends_close(&e);
}

/* ... and only while they are the last ones, from the reader's index on. */
static const struct {
	const char *name;
	size_t put[4], get[4]; /* in turns; 0: not this time */
} turns[] = {
	{ "few behind few", { 10, 10 }, { 0, 20 } },
	{ "many behind few", { 10, 100 }, { 0, 110 } },
	{ "few behind many", { 100, 10 }, { 0, 110 } },
	{ "few in pieces", { 40, 0, 0 }, { 8, 8, 24 } },
	{ "few behind few that are read", { 10, 20, 30 }, { 10, 20, 30 } },
	{ "few behind few that are read in part",
	  { 20, 20, 20 },
	  { 5, 30, 25 } },
	{ "few again behind many", { 20, 200, 20 }, { 20, 200, 20 } },
	{ "one behind many that are read in part", { 200, 1 }, { 160, 41 } },
};

CASE(a_copy_is_of_the_last_octets)
{
	uint8_t in[200], out[200];

	for (size_t i = 0; i < ARRAY_LEN(turns); i++) {
		uint64_t put_at = 0, get_at = 0;
		struct ends e;

		ends_open(&e);
		for (size_t j = 0; j < ARRAY_LEN(turns[i].put); j++) {
			size_t len = turns[i].put[j];

			fill(in, put_at, len);
			assert_row(turns[i].name,
				   put(&e.writer, in, len) == (ssize_t)len);
			put_at += len;
			len = turns[i].get[j];
			assert_row(turns[i].name,
				   get(&e.reader, out, len) == (ssize_t)len);
			assert_row(turns[i].name, is_filled(out, get_at, len));
			get_at += len;
		}
		assert_row(turns[i].name, put_at == get_at);
		ends_close(&e);
	}
}

CASE(takes_what_fits)
{
	uint8_t *mem = malloc(2 * SIZE);
	struct ends e;

	ends_open(&e);
	fill(mem, 0, 2 * SIZE);
	assert_int_equal(put(&e.writer, mem, 100), 100);
	assert_int_equal(put(&e.writer, mem + 100, 2 * SIZE), SIZE - 100);
	assert_int_equal(put(&e.writer, mem + SIZE, 1), 0);
	assert_false(rnic_ring_has_room(&e.writer));
	assert_int_equal(get(&e.reader, mem, 10), 10);
	assert_true(rnic_ring_has_room(&e.writer));
	fill(mem, SIZE, 20);
	assert_int_equal(put(&e.writer, mem, 20), 10);
	assert_int_equal(get(&e.reader, mem, 2 * SIZE), SIZE);
	assert_true(is_filled(mem, 10, SIZE));
	ends_close(&e);
	free(mem);
}

/* Pieces of iovecs, empty ones among them, from any octet on. */
CASE(walks_iovecs)
{
	uint64_t seed = 1;
	uint8_t in[1000], out[1000];
	struct iovec from[12], to[12];
	struct ends e;

	ends_open(&e);
	for (int round = 0; round < 2000; round++) {
		size_t off = test_random(&seed) % sizeof(in);
		size_t at_in = 0, at_out = 0;
		size_t max = test_random(&seed) % 1200;
		size_t want = sizeof(in) - off < max ? sizeof(in) - off : max;

		for (int i = 0; i < 12; i++) {
			size_t a = test_random(&seed) % 3
					   ? test_random(&seed) % 100
					   : 0;
			size_t b = test_random(&seed) % 150;

			if (i == 11 || a > sizeof(in) - at_in)
				a = sizeof(in) - at_in;
			if (i == 11 || b > sizeof(out) - at_out)
				b = sizeof(out) - at_out;
			from[i] = (struct iovec){ in + at_in, a };
			to[i] = (struct iovec){ out + at_out, b };
			at_in += a;
			at_out += b;
		}
		fill(in, (uint64_t)round, sizeof(in));
		memset(out, 0, sizeof(out));
		assert_int_equal(rnic_ring_write(&e.writer, from, 12, off, max),
				 want);
		assert_int_equal(
			rnic_ring_read(&e.reader, to, 12, off, SIZE_MAX), want);
		assert_true(is_filled(out + off, (uint64_t)round + off, want));
	}
	ends_close(&e);
}

CASE(throws_away_what_is_there)
{
	uint8_t mem[300];
	struct ends e;

	ends_open(&e);
	fill(mem, 0, sizeof(mem));
	assert_int_equal(rnic_ring_discard(&e.reader), 0);
	assert_int_equal(put(&e.writer, mem, 300), 300);
	assert_int_equal(get(&e.reader, mem, 100), 100);
	/* Also what has come since the last look. */
	assert_int_equal(put(&e.writer, mem, 50), 50);
	assert_int_equal(rnic_ring_discard(&e.reader), 250);
	assert_false(rnic_ring_has_octets(&e.reader));
	ends_close(&e);
}

/* A source or sink that faults leaves the ring as it was. */
CASE(says_what_memory_faults)
{
	uint8_t *mem = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t out[16];
	struct ends e;

	assert_true(mem != MAP_FAILED);
	assert_int_equal(rnic_guard_install(), 0);
	rnic_guard_thread();
	ends_open(&e);
	fill(mem, 0, PAGE);
	assert_int_equal(mprotect(mem + PAGE, PAGE, PROT_NONE), 0);
	assert_int_equal(put(&e.writer, mem + PAGE - 8, 16), -EFAULT);
	assert_false(rnic_ring_has_octets(&e.reader));
	assert_int_equal(put(&e.writer, mem + 3, 16), 16);
	assert_int_equal(get(&e.reader, mem + PAGE - 8, 16), -EFAULT);
	assert_int_equal(get(&e.reader, out, sizeof(out)), 16);
	assert_true(is_filled(out, 3, 16));
	ends_close(&e);
	munmap(mem, 2 * PAGE);
}

/* What the other end's index says, from this end's; and whether it can be. */
static const struct {
	const char *name;
	uint64_t head, tail; /* of a ring with index 1000 on this side */
	ssize_t read, written;
} lies[] = {
	{ "as they are", 1000, 1000, 0, 16 },
	{ "one octet", 1001, 1000, 1, 16 },
	{ "a full ring", 1000 + SIZE, 1000 - SIZE, 16, 0 },
	{ "more than the ring", 1001 + SIZE, 999 - SIZE, -EPROTO, -EPROTO },
	{ "head behind, tail before", 999, 1001, -EPROTO, -EPROTO },
	{ "half of all numbers", 1000 + (UINT64_MAX / 2),
	  1000 - (UINT64_MAX / 2), -EPROTO, -EPROTO },
	{ "the other end of all numbers", UINT64_MAX, UINT64_MAX / 2, -EPROTO,
	  -EPROTO },
};

CASE(refuses_indices_that_cannot_be)
{
	uint8_t mem[16] = "";

	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		struct ends e;

		ends_open(&e);
		e.reader.own = e.reader.peer = 1000;
		e.writer.own = 1000;
		e.writer.peer = 1000 - SIZE; /* full, when last looked at */
		e.shared->head = lies[i].head;
		e.shared->tail = lies[i].tail;
		assert_row(lies[i].name,
			   get(&e.reader, mem, sizeof(mem)) == lies[i].read);
		e.shared->tail = lies[i].tail;
		assert_row(lies[i].name,
			   put(&e.writer, mem, sizeof(mem)) == lies[i].written);
		e.reader.own = e.reader.peer = 1000;
		e.shared->head = lies[i].head;
		assert_row(lies[i].name,
			   (rnic_ring_discard(&e.reader) == -EPROTO) ==
				   (lies[i].read == -EPROTO));
		assert_row(lies[i].name,
			   lies[i].read != -EPROTO || e.reader.own == 1000);
		ends_close(&e);
	}
}

/* What is known to be free, or to be there, is used without a look at what the
 * other end writes, to the last octet. */
CASE(looks_at_the_other_index_if_it_must)
{
	uint8_t mem[64] = "";
	struct ends e;

	for (size_t more = 0; more < 2; more++) {
		ends_open(&e);
		e.writer.own = SIZE - 32; /* of which nothing is read */
		e.shared->tail = SIZE;	  /* a lie */
		assert_int_equal(put(&e.writer, mem, 32 + more),
				 more ? -EPROTO : 32);
		e.reader.peer = 32;
		e.shared->head = UINT64_MAX;
		assert_int_equal(get(&e.reader, mem, 32 + more),
				 more ? -EPROTO : 32);
		ends_close(&e);
	}
}

/* This end's index is its own: what the other end writes there is not read. */
CASE(trusts_its_own_index_only)
{
	uint8_t in[64], out[64];
	struct ends e;

	ends_open(&e);
	fill(in, 0, sizeof(in));
	assert_int_equal(put(&e.writer, in, 32), 32);
	e.shared->tail = 7777; /* by the writer */
	assert_int_equal(get(&e.reader, out, 16), 16);
	assert_int_equal(e.shared->tail, 16);
	assert_int_equal(get(&e.reader, out + 16, 64), 16);
	assert_true(is_filled(out, 0, 32));
	e.shared->head = 9999; /* by the reader */
	assert_int_equal(put(&e.writer, in + 32, 8), 8);
	assert_int_equal(e.shared->head, 40);
	ends_close(&e);
}

/* ---- at once ---- */

struct writing {
	struct ends *ends;
	uint64_t total;
	size_t max; /* octets at a time */
};

static void *write_all(void *arg)
{
	static uint8_t mem[70000];
	const struct writing *w = arg;
	uint64_t at = 0, seed = 5;

	while (at < w->total) {
		size_t len = 1 + test_random(&seed) % w->max;
		ssize_t done;

		if (len > w->total - at)
			len = w->total - at;
		fill(mem, at, len);
		done = put(&w->ends->writer, mem, len);
		if (done < 0)
			return (void *)"an error";
		if (done == 0)
			sched_yield();
		at += (uint64_t)done;
	}
	return NULL;
}

static void write_and_read(uint64_t total, size_t write_max, size_t read_max)
{
	static uint8_t mem[50000];
	struct ends e;
	struct writing w = { &e, total, write_max };
	uint64_t at = 0, seed = 9;
	pthread_t thread;
	void *bad;

	ends_open(&e);
	assert_int_equal(pthread_create(&thread, NULL, write_all, &w), 0);
	while (at < total) {
		size_t len = 1 + test_random(&seed) % read_max;
		ssize_t done = get(&e.reader, mem, len);

		assert_true(done >= 0);
		assert_true(is_filled(mem, at, (size_t)done));
		if (done == 0)
			sched_yield();
		at += (uint64_t)done;
	}
	pthread_join(thread, &bad);
	assert_null(bad);
	ends_close(&e);
}

CASE(serves_both_ends_at_once)
{
	write_and_read((uint64_t)32 << 20, 70000, 50000);
	/* The copy beside the index is replaced while it is read. */
	write_and_read((uint64_t)4 << 20, RNIC_RING_INLINE, 1000);
	write_and_read((uint64_t)4 << 20, 2 * RNIC_RING_INLINE, 60);
}
