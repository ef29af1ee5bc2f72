/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A ring of octets between two processes: one writer, one reader.  No call
 * waits, and none trusts what the other end has written.
 */
#ifndef RNIC_LOCAL_RING_H
#define RNIC_LOCAL_RING_H

#include <sys/types.h>
#include <sys/uio.h>

#include "object.h"

/* Either end.  @shared: zeroed, or as the other end has begun to use it. */
void rnic_ring_init(struct rnic_ring *ring, struct rnic_ring_shared *shared,
		    uint8_t *data);

/*
 * Write up to @max octets of the iovecs, from octet @off of them on.  The
 * source may be memory that cannot be read (os/guard.h).
 * Return: octets written, and to be seen by the reader; 0: the ring is full, or
 *   nothing is left; -EFAULT: the source; -EPROTO: the reader's index is
 *   impossible.  After an error nothing is written.
 */
ssize_t rnic_ring_write(struct rnic_ring *ring, const struct iovec *iov,
			int cnt, size_t off, size_t max);

/*
 * Read up to @max octets into the iovecs, from octet @off of them on.
 * Return: as rnic_ring_write(); 0: the ring is empty, or no memory is left.
 */
ssize_t rnic_ring_read(struct rnic_ring *ring, const struct iovec *iov, int cnt,
		       size_t off, size_t max);

/* Throw away what is there.  Return: octets; -EPROTO. */
ssize_t rnic_ring_discard(struct rnic_ring *ring);

/* Is there anything new for the reader?  A look at one word. */
static inline bool rnic_ring_has_octets(const struct rnic_ring *ring)
{
	/* relaxed: rnic_ring_read() acquires */
	return atomic_load_explicit(&ring->shared->head,
				    memory_order_relaxed) != ring->own;
}

/* Has the reader taken anything since the writer found the ring full? */
static inline bool rnic_ring_has_room(const struct rnic_ring *ring)
{
	/* relaxed: rnic_ring_write() acquires */
	return ring->own - ring->peer < RNIC_RING_SIZE ||
	       atomic_load_explicit(&ring->shared->tail,
				    memory_order_relaxed) != ring->peer;
}

#endif
