/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a process and a command that observes it share: records.
 *
 * Their place has a slot for each process that is observed, and a slot has a
 * ring: the threads of the process write records, the command reads them.
 *
 * - A command that starts the program makes a memfd with 64 slots, and names it
 *   in the environment: USIW_OBSERVE=KIND:PATH[,KIND:PATH].  It outlives the
 *   processes, so what they wrote last is read, too.
 * - For a process that runs, the place is in the file of its counter page, at
 *   USIW_OBSERVER_AT(kind).  The command makes the file that long, and asks by
 *   struct usiw_observed.  So the process needs no access to the command.
 *
 * Neither side trusts the other one: each copies an entry once, checks the
 * copy, and accesses nothing outside the ring.
 */
#ifndef USIW_OBSERVER_H
#define USIW_OBSERVER_H

#include "usiw-abi.h"

#define USIW_OBSERVER_MAGIC 0x6f697375u /* "usio" */
#define USIW_OBSERVER_VERSION 1
#define USIW_OBSERVER_SLOTS 64

/* What is observed.  Bit 1 << kind in struct usiw_observed, `wanted`. */
enum usiw_observe {
	USIW_OBSERVE_CALLS,   /* verbs and rdma_cm: usiw trace */
	USIW_OBSERVE_PACKETS, /* octets of streams, datagrams: usiw capture */
};

/* Behind everything else that is in the file of the counter page. */
#define USIW_OBSERVER_AT(kind) (((uint64_t)(kind) + 1) << 30)

/* Multiple of 8 octets; the payload follows. */
struct usiw_record {
	/* With this header, without what fills it up; 0: not written yet; or
	 * USIW_RECORD_GAP and the octets up to the end of the ring. */
	_Atomic uint32_t len;
	uint16_t kind; /* the writer's, and so is the payload */
	uint16_t flags;
	uint32_t tid;
	uint32_t reserved;
	uint64_t ns; /* CLOCK_REALTIME */
};

_Static_assert(sizeof(struct usiw_record) == 24, "record layout");

/* Kinds of records of USIW_OBSERVE_CALLS. */
enum usiw_call_record_kind {
	USIW_RECORD_CALL = 1,	    /* a call of the program has returned */
	USIW_RECORD_EVENT = 2,	    /* the program gets an event */
	USIW_RECORD_POST = 3,	    /* a work request is about to be posted */
	USIW_RECORD_COMPLETION = 4, /* the program gets a completion */
};

/* USIW_RECORD_CALL, USIW_RECORD_EVENT. */
struct usiw_call_record {
	uint64_t took_ns; /* 0: not known */
	uint32_t cnt;	  /* so many calls with the same result */
	int32_t result;	  /* 0 or a count; negative: -errno */
	/* Octets of the text, which has these parts in this order: its name,
	 * arguments, and in place of the number, or before an errno, a result;
	 * an event has its name and fields. */
	uint16_t name_len, args_len, made_len;
	uint16_t reserved;
	char text[]; /* not terminated */
};

_Static_assert(sizeof(struct usiw_call_record) == 24, "call record layout");

/* Octets of text in a record, at most. */
#define USIW_CALL_TEXT_MAX 1024u

static inline void
usiw_call_record_set_text(struct usiw_call_record *record, const char *name,
			  uint32_t len, const char *args, uint32_t args_len,
			  const char *made, uint32_t made_len)
{
	record->name_len = (uint16_t)len;
	record->args_len = (uint16_t)args_len;
	record->made_len = (uint16_t)made_len;
	record->reserved = 0;
	__builtin_memcpy(record->text, name, len);
	__builtin_memcpy(record->text + len, args, args_len);
	__builtin_memcpy(record->text + len + args_len, made, made_len);
}

struct usiw_post_record {
	uint64_t wr_id;
	uint32_t qp_num; /* 0: a receive of an SRQ */
	uint8_t is_recv;
	uint8_t is_signaled;
	uint16_t reserved;
};

struct usiw_completion_record {
	uint64_t wr_id;
	uint32_t qp_num;
	uint32_t cq_num; /* its handle */
	uint32_t byte_len;
	uint32_t vendor_err;
	uint32_t imm_be;
	uint8_t status, opcode, flags; /* as in struct usiw_cqe */
	uint8_t reserved;
};

/* Free-running octet numbers.  The octets between `tail` and the next record
 * to be written are 0 where none is written. */
struct usiw_record_ring {
	_Alignas(USIW_CACHE_LINE) _Atomic uint64_t head; /* the process */
	_Atomic uint64_t lost;				 /* records */
	_Alignas(USIW_CACHE_LINE) _Atomic uint64_t tail; /* the command */
};

struct usiw_observer_slot {
	_Alignas(USIW_CACHE_LINE) _Atomic uint32_t pid; /* 0: free */
	uint32_t reserved;
	struct usiw_record_ring ring;
};

struct usiw_observer_place {
	uint32_t magic;
	uint32_t version;
	uint32_t kind;	    /* enum usiw_observe */
	uint32_t ring_size; /* octets of each ring, a power of 2 */
	uint32_t slot_cnt;  /* 1 to USIW_OBSERVER_SLOTS */
	uint32_t snap_len;  /* PACKETS: payload octets of a record, at most */
	_Atomic uint32_t beat; /* grows while the command lives */
	/* Processes that found no free slot. */
	_Atomic uint32_t refused_cnt;
	struct usiw_observer_slot slot[USIW_OBSERVER_SLOTS];
};

/* Of the first ring.  They follow each other. */
#define USIW_OBSERVER_DATA_AT 65536u

_Static_assert(sizeof(struct usiw_observer_place) <= USIW_OBSERVER_DATA_AT,
	       "observer layout");

#define USIW_RECORD_GAP (1u << 31)
#define USIW_RECORD_ALIGN(len) (((uint64_t)(len) + 7) & ~UINT64_C(7))

/*
 * Reserves a record of @len octets after its header.  Any number of threads.
 * @data: @size octets, a power of 2.
 * Return: the record, of which the caller sets all but `len`; NULL: no room,
 *   and it is counted as lost.
 */
static inline struct usiw_record *
usiw_record_begin(struct usiw_record_ring *ring, void *data, uint32_t size,
		  uint32_t len)
{
	uint64_t need = USIW_RECORD_ALIGN(sizeof(struct usiw_record) + len);
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	uint64_t gap, used;
	struct usiw_record *fill;

	do {
		gap = size - (head & (size - 1));
		gap = need > gap ? gap : 0;
		/* acquire: the command has set its octets to 0 */
		used = head -
		       atomic_load_explicit(&ring->tail, memory_order_acquire);
		if (head & 7 || used > size || need + gap > size - used) {
			atomic_fetch_add_explicit(&ring->lost, 1,
						  memory_order_relaxed);
			return NULL;
		}
	} while (!atomic_compare_exchange_weak_explicit(
		&ring->head, &head, head + gap + need, memory_order_relaxed,
		memory_order_relaxed));
	if (gap) { /* less than a header, perhaps: only its length is used */
		fill = (void *)((char *)data + (head & (size - 1)));
		atomic_store_explicit(&fill->len,
				      (uint32_t)gap | USIW_RECORD_GAP,
				      memory_order_release);
	}
	return (void *)((char *)data + ((head + gap) & (size - 1)));
}

/* Publishes a record.  @len: as it was reserved. */
static inline void usiw_record_end(struct usiw_record *record, uint32_t len)
{
	atomic_store_explicit(&record->len, (uint32_t)sizeof(*record) + len,
			      memory_order_release);
}

/*
 * Takes the oldest record.  The command only.
 * @ret_record: @max octets, enough for the header.
 * Return: its length with the header, without what @max cuts off; 0: none is
 *   there; -1: nonsense, after which the ring is of no use.
 */
static inline int64_t usiw_record_take(struct usiw_record_ring *ring,
				       void *data, uint32_t size,
				       void *ret_record, uint32_t max)
{
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
	struct usiw_record *record;
	uint32_t left, len, step;

	if (tail & 7)
		return -1;
	for (;;) {
		left = size - (uint32_t)(tail & (size - 1));
		record = (void *)((char *)data + (tail & (size - 1)));
		/* acquire: the record is complete */
		len = atomic_load_explicit(&record->len, memory_order_acquire);
		if (!(len & USIW_RECORD_GAP))
			break;
		if ((len & ~USIW_RECORD_GAP) != left)
			return -1;
		atomic_store_explicit(&record->len, 0, memory_order_relaxed);
		tail += left;
		atomic_store_explicit(&ring->tail, tail, memory_order_release);
	}
	if (!len)
		return 0;
	if (len < sizeof(*record) || len > left)
		return -1;
	__builtin_memcpy(ret_record, (void *)record, len < max ? len : max);
	step = (uint32_t)USIW_RECORD_ALIGN(len);
	__builtin_memset((void *)record, 0, step);
	/* release: the octets are 0 */
	atomic_store_explicit(&ring->tail, tail + step, memory_order_release);
	return len < max ? len : max;
}

#endif
