/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The local path of one stream: two rings of octets in memory that both ends
 * map, and a socket by which one end wakes the other.
 *
 * The other end may write to this memory at any time, and need not keep any
 * rule.  So every index of this end lives in private memory, an index of the
 * other end is copied once and checked, and octets are copied out before
 * anything is read from them.
 */
#ifndef RNIC_LOCAL_OBJECT_H
#define RNIC_LOCAL_OBJECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RNIC_RING_LINE 64

/* Octets of one ring, a power of two. */
#define RNIC_RING_SIZE (256u * 1024u)

/* What the reader of a ring does about new octets. */
enum rnic_ring_reader {
	RNIC_RING_AWAKE,  /* it looks by itself */
	RNIC_RING_ASLEEP, /* it has to be woken; the writer makes it AWAKE */
	RNIC_RING_LEAVES, /* it cannot be woken: send by TCP instead */
};

/* The line of the writer's index holds so many octets, too. */
#define RNIC_RING_INLINE_WORDS 6
#define RNIC_RING_INLINE (8u * RNIC_RING_INLINE_WORDS)

/*
 * What the two ends of one ring share.  Both indices run freely.  What one end
 * writes for each message is on another line than what it only reads.
 */
struct rnic_ring_shared {
	/* The writer's; release, the octets before it. */
	_Alignas(RNIC_RING_LINE) _Atomic uint64_t head;
	/* A copy of the last octets of the ring, if the writer has added few:
	 * the reader needs no other line then.  Their index, and 1 more; 0:
	 * there is no copy.  The writer takes it back before it writes another
	 * one. */
	_Atomic uint64_t inline_from;
	_Atomic uint64_t inline_octets[RNIC_RING_INLINE_WORDS];
	/* The reader's; release, the octets are copied. */
	_Alignas(RNIC_RING_LINE) _Atomic uint64_t tail;
	/* Seldom written to. */
	_Alignas(RNIC_RING_LINE) _Atomic uint32_t reader;
	_Atomic uint32_t has_left;     /* what follows comes by TCP */
	_Atomic uint32_t writer_waits; /* for room; the reader takes it back */
};

_Static_assert(offsetof(struct rnic_ring_shared, tail) == RNIC_RING_LINE,
	       "the copy is on the line of the index");

/* The first octets of a ring: a line, so that others are aligned as before. */
struct rnic_ring_start {
	uint64_t tcp_octets; /* of the stream, sent by TCP before */
	uint8_t unused[RNIC_RING_LINE - sizeof(uint64_t)];
};

/* One end of a ring. */
struct rnic_ring {
	struct rnic_ring_shared *shared;
	uint8_t *data;
	uint64_t own;	 /* this end's index */
	uint64_t peer;	 /* the other end's, when it was last looked at */
	bool is_inlined; /* the writer's last octets are on the index's line */
};

struct rnic_local {
	void *mem;
	struct rnic_ring tx, rx;
	int wake_fd;	   /* AF_UNIX; one octet wakes; -1: it has failed */
	bool refuses_fds;  /* nobody passes descriptors by it */
	bool is_asleep;	   /* or has been woken since */
	bool is_tx_on;	   /* this end has begun to send by the ring */
	bool is_rx_on;	   /* the other end has */
	bool has_left_tx;  /* this end sends by TCP again */
	bool has_left_rx;  /* the other end does, and the ring is read */
	bool wakes_later;  /* short sends leave the wake-up to the caller */
	bool is_wake_due;  /* ... which is due */
	bool has_woken;	   /* the other end, for its last octets */
	bool is_left_told; /* ... and the other end will be told */
	uint64_t tcp_rest; /* octets to come by TCP before those of the ring */
	int tcp_status; /* < 0: the socket's error, behind the ring's octets */
};

#endif
