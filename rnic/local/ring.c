/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A ring of octets between two processes: one writer, one reader. */
#include "ring.h"

#include <errno.h>
#include <string.h>

#include "os/guard.h"

#define RING_MASK (RNIC_RING_SIZE - 1u)

_Static_assert((RNIC_RING_SIZE & RING_MASK) == 0, "a power of two");

void rnic_ring_init(struct rnic_ring *ring, struct rnic_ring_shared *shared,
		    uint8_t *data)
{
	*ring = (struct rnic_ring){ .shared = shared, .data = data };
}

/* ---- copies ---- */

struct ring_copy {
	uint8_t *data; /* of a ring, or octets from its front on */
	uint64_t at;
	const struct iovec *iov; /* the elements that have octets left */
	size_t off;		 /* in the first of them */
	size_t len;
	bool is_write;
};

/* @len contiguous octets of memory, at the ring's index @at, in two pieces if
 * the ring ends in between. */
static void ring_move(const struct ring_copy *copy, uint64_t at, uint8_t *mem,
		      size_t len)
{
	size_t slot = at & RING_MASK;
	size_t first = RNIC_RING_SIZE - slot < len ? RNIC_RING_SIZE - slot
						   : len;
	uint8_t *data = copy->data;

	if (copy->is_write) {
		memcpy(data + slot, mem, first);
		if (first < len)
			memcpy(data, mem + first, len - first);
	} else {
		memcpy(mem, data + slot, first);
		if (first < len)
			memcpy(mem + first, data, len - first);
	}
}

static void ring_access(void *arg)
{
	const struct ring_copy *copy = arg;
	const struct iovec *v = copy->iov;
	uint64_t at = copy->at;
	size_t off = copy->off;
	size_t len = copy->len;

	for (; len > 0; v++, off = 0) {
		size_t piece = v->iov_len - off < len ? v->iov_len - off : len;

		if (piece > 0)
			ring_move(copy, at, (uint8_t *)v->iov_base + off,
				  piece);
		at += piece;
		len -= piece;
	}
}

/* Finds octet @off.  Return: the octets from there on, at most @max. */
static size_t iov_seek(const struct iovec *iov, int cnt, size_t off, size_t max,
		       struct ring_copy *copy)
{
	size_t left = 0;
	int i = 0;

	while (i < cnt && off >= iov[i].iov_len)
		off -= iov[i++].iov_len;
	copy->iov = iov + i;
	copy->off = off;
	for (; i < cnt && left < max; i++, off = 0)
		left += iov[i].iov_len - off;
	return left < max ? left : max;
}

/* ---- few octets, on the line of the index ---- */

struct inline_copy {
	uint64_t words[RNIC_RING_INLINE_WORDS];
};

/* Before the index moves on.  @few: the octets that it moves over; NULL: they
 * are too many. */
static void inline_put(struct rnic_ring *ring, const struct inline_copy *few,
		       size_t len)
{
	struct rnic_ring_shared *shared = ring->shared;

	if (ring->is_inlined) {
		atomic_store_explicit(&shared->inline_from, 0,
				      memory_order_relaxed);
		/* Before the words; pairs with the fence in inline_take(). */
		atomic_thread_fence(memory_order_release);
	}
	ring->is_inlined = few != NULL;
	if (!few)
		return;
	for (size_t i = 0; 8 * i < len; i++)
		atomic_store_explicit(&shared->inline_octets[i], few->words[i],
				      memory_order_relaxed);
	/* relaxed, as the words: the index behind them is released */
	atomic_store_explicit(&shared->inline_from, ring->own + 1,
			      memory_order_relaxed);
}

/* @have: octets from the reader's index on.  Return: whether they are copied,
 * and are what the writer meant. */
static bool inline_take(const struct rnic_ring *ring, size_t have,
			struct inline_copy *ret_few)
{
	struct rnic_ring_shared *shared = ring->shared;
	uint64_t from = ring->own + 1;

	if (have > RNIC_RING_INLINE ||
	    atomic_load_explicit(&shared->inline_from, memory_order_relaxed) !=
		    from)
		return false;
	for (size_t i = 0; 8 * i < have; i++)
		ret_few->words[i] = atomic_load_explicit(
			&shared->inline_octets[i], memory_order_relaxed);
	/* Behind the words; pairs with the fence in inline_put(): if one of
	 * them is newer, this is seen to be taken back. */
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&shared->inline_from,
				    memory_order_relaxed) == from;
}

/* ---- the writer ---- */

/* Return: octets that are free; -EPROTO.  The reader's index is looked at only
 * if what is known to be free does not do. */
static ssize_t ring_find_room(struct rnic_ring *ring, size_t want)
{
	uint64_t room = RNIC_RING_SIZE - (ring->own - ring->peer);
	uint64_t tail;

	if (room < want) {
		/* acquire: pairs with the release of ring_consume(): the
		 * reader has copied what is overwritten now */
		tail = atomic_load_explicit(&ring->shared->tail,
					    memory_order_acquire);
		if (ring->own - tail > RNIC_RING_SIZE)
			return -EPROTO;
		ring->peer = tail;
		room = RNIC_RING_SIZE - (ring->own - tail);
	}
	return (ssize_t)room;
}

static void ring_put(const struct rnic_ring *ring, struct inline_copy *few,
		     size_t len)
{
	const struct ring_copy copy = { .data = ring->data, .is_write = true };

	ring_move(&copy, ring->own, (uint8_t *)few->words, len);
}

ssize_t rnic_ring_write(struct rnic_ring *ring, const struct iovec *iov,
			int cnt, size_t off, size_t max)
{
	struct ring_copy copy = {
		.data = ring->data,
		.at = ring->own,
		.is_write = true,
	};
	size_t want = iov_seek(iov, cnt, off, max, &copy);
	struct inline_copy few;
	bool is_few;
	ssize_t room = ring_find_room(ring, want);
	int rc;

	if (room < 0)
		return room;
	copy.len = want < (size_t)room ? want : (size_t)room;
	if (copy.len == 0)
		return 0;
	is_few = copy.len <= RNIC_RING_INLINE;
	if (is_few) {
		copy.data = (uint8_t *)few.words;
		copy.at = 0;
		/* Whole words are copied. */
		few.words[(copy.len - 1) / 8] = 0;
	}
	rc = rnic_guard(ring_access, &copy);
	if (rc < 0)
		return rc;
	if (is_few)
		ring_put(ring, &few, copy.len);
	inline_put(ring, is_few ? &few : NULL, copy.len);
	ring->own += copy.len;
	/* release: the octets before their index; pairs with the acquire of
	 * ring_find_octets() */
	atomic_store_explicit(&ring->shared->head, ring->own,
			      memory_order_release);
	return (ssize_t)copy.len;
}

/* ---- the reader ---- */

/* As ring_find_room(). */
static ssize_t ring_find_octets(struct rnic_ring *ring, size_t want)
{
	uint64_t have = ring->peer - ring->own;
	uint64_t head;

	if (have < want) {
		/* acquire: pairs with the release of rnic_ring_write() */
		head = atomic_load_explicit(&ring->shared->head,
					    memory_order_acquire);
		have = head - ring->own;
		if (have > RNIC_RING_SIZE)
			return -EPROTO;
		ring->peer = head;
	}
	return (ssize_t)have;
}

static void ring_consume(struct rnic_ring *ring, size_t len)
{
	ring->own += len;
	/* release: the octets are copied; pairs with the acquire of
	 * ring_find_room() */
	atomic_store_explicit(&ring->shared->tail, ring->own,
			      memory_order_release);
}

ssize_t rnic_ring_read(struct rnic_ring *ring, const struct iovec *iov, int cnt,
		       size_t off, size_t max)
{
	struct ring_copy copy = { .data = ring->data, .at = ring->own };
	struct inline_copy few;
	size_t want = iov_seek(iov, cnt, off, max, &copy);
	ssize_t have = ring_find_octets(ring, want);
	int rc;

	if (have < 0)
		return have;
	copy.len = want < (size_t)have ? want : (size_t)have;
	if (copy.len == 0)
		return 0;
	if (inline_take(ring, (size_t)have, &few)) {
		copy.data = (uint8_t *)few.words;
		copy.at = 0;
	}
	rc = rnic_guard(ring_access, &copy);
	if (rc < 0)
		return rc;
	ring_consume(ring, copy.len);
	return (ssize_t)copy.len;
}

ssize_t rnic_ring_discard(struct rnic_ring *ring)
{
	ssize_t have = ring_find_octets(ring, RNIC_RING_SIZE);

	if (have > 0)
		ring_consume(ring, (size_t)have);
	return have;
}
