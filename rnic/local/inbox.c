/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Memory in which many processes leave datagrams for one reader. */
#include "inbox.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/guard.h"
#include "sealed.h"
#include "util/cancel.h"
#include "util/iov.h"

#define LINE 64
#define WORD_BITS 64u
#define WORDS (RNIC_INBOX_CNT / WORD_BITS)
/* Buffers that the reader has done with, and frees together. */
#define DONE_MAX (RNIC_INBOX_CNT / 4)

enum inbox_reader { READER_AWAKE, READER_ASLEEP, READER_GONE };

/*
 * The top of the stack is a buffer's number and 1 more, 0 if there is none, in
 * the low half; the high half counts, so that a stack that was taken and grew
 * again is told from one that has not changed.
 */
struct rnic_inbox_shared {
	_Alignas(LINE) _Atomic uint64_t top;
	_Alignas(LINE) _Atomic uint32_t reader;
	_Alignas(LINE) _Atomic uint64_t free[WORDS]; /* a bit for each */
	/* A short datagram takes two lines, with what the stack needs. */
	struct inbox_buffer {
		_Alignas(LINE) uint32_t next; /* below it on the stack */
		uint32_t len;
		uint8_t octets[RNIC_INBOX_LEN];
	} buf[RNIC_INBOX_CNT];
};

_Static_assert(RNIC_INBOX_CNT % WORD_BITS == 0, "whole words of bits");
_Static_assert(RNIC_INBOX_CNT <= UINT8_MAX, "a number fits an octet");

#define TOP_COUNT (UINT64_C(1) << 32)

/* ---- memory -------------------------------------------------------------- */

int rnic_inbox_map(struct rnic_inbox *inbox, int fd)
{
	void *mem;
	int rc = rnic_sealed_map(fd, sizeof(struct rnic_inbox_shared), &mem);

	if (rc < 0)
		return rc;
	*inbox = (struct rnic_inbox){ .shared = mem };
	return 0;
}

int rnic_inbox_new(struct rnic_inbox *inbox, int *ret_fd)
{
	int fd = rnic_sealed_new(sizeof(struct rnic_inbox_shared));
	int rc;

	if (fd < 0)
		return fd;
	rc = rnic_inbox_map(inbox, fd);
	if (rc < 0) {
		util_sys_close(fd);
		return rc;
	}
	for (uint32_t i = 0; i < WORDS; i++)
		atomic_init(&inbox->shared->free[i], UINT64_MAX);
	atomic_init(&inbox->shared->reader, READER_ASLEEP);
	*ret_fd = fd;
	return 0;
}

int rnic_inbox_check(int fd)
{
	int rc = rnic_sealed_check(fd, sizeof(struct rnic_inbox_shared));
	struct stat st;

	/* Behind that: fstat() of a file that is elsewhere may block. */
	if (rc == 0 && (fstat(fd, &st) < 0 || st.st_uid != geteuid()))
		rc = -EPROTO;
	return rc;
}

void rnic_inbox_unmap(struct rnic_inbox *inbox)
{
	if (inbox->shared)
		munmap(inbox->shared, sizeof(*inbox->shared));
	inbox->shared = NULL;
}

/* ---- writer -------------------------------------------------------------- */

/* Return: a buffer's number; RNIC_INBOX_CNT: none is free. */
static uint32_t buffer_claim(struct rnic_inbox_shared *shared)
{
	for (uint32_t i = 0; i < WORDS; i++) {
		uint64_t bits = atomic_load_explicit(&shared->free[i],
						     memory_order_relaxed);

		while (bits) {
			/* acquire: the reader has done with it */
			if (atomic_compare_exchange_weak_explicit(
				    &shared->free[i], &bits, bits & (bits - 1),
				    memory_order_acquire, memory_order_relaxed))
				return i * WORD_BITS +
				       (uint32_t)__builtin_ctzll(bits);
		}
	}
	return RNIC_INBOX_CNT;
}

static void buffers_free(struct rnic_inbox_shared *shared, uint32_t word,
			 uint64_t bits)
{
	/* release: pairs with buffer_claim() */
	if (bits)
		atomic_fetch_or_explicit(&shared->free[word], bits,
					 memory_order_release);
}

static uint64_t buffer_bit(uint32_t num)
{
	return UINT64_C(1) << num % WORD_BITS;
}

struct inbox_copy {
	uint8_t *to;
	const struct iovec *iov;
	int cnt;
};

/* Guarded: the source may be unmapped. */
static void inbox_copy(void *arg)
{
	const struct inbox_copy *copy = arg;
	uint8_t *to = copy->to;

	for (int i = 0; i < copy->cnt; i++) {
		memcpy(to, copy->iov[i].iov_base, copy->iov[i].iov_len);
		to += copy->iov[i].iov_len;
	}
}

static void stack_push(struct rnic_inbox_shared *shared, uint32_t num)
{
	uint64_t top = atomic_load_explicit(&shared->top, memory_order_relaxed);

	do {
		shared->buf[num].next = (uint32_t)top;
		/* release: the datagram; pairs with stack_take() */
	} while (!atomic_compare_exchange_weak_explicit(
		&shared->top, &top,
		(top & ~(TOP_COUNT - 1)) + TOP_COUNT + num + 1,
		memory_order_release, memory_order_relaxed));
}

/* Return: whether the reader is to be woken. */
static bool reader_sleeps(struct rnic_inbox_shared *shared)
{
	uint32_t asleep = READER_ASLEEP;

	/* Pairs with the fence in rnic_inbox_sleep(): a reader that has not
	 * seen the datagram is seen asleep. */
	atomic_thread_fence(memory_order_seq_cst);
	/* One of the writers makes it AWAKE, and wakes it. */
	return atomic_load_explicit(&shared->reader, memory_order_relaxed) ==
		       READER_ASLEEP &&
	       atomic_compare_exchange_strong_explicit(
		       &shared->reader, &asleep, READER_AWAKE,
		       memory_order_relaxed, memory_order_relaxed);
}

bool rnic_inbox_is_left(const struct rnic_inbox *inbox)
{
	return atomic_load_explicit(&inbox->shared->reader,
				    memory_order_relaxed) == READER_GONE;
}

int rnic_inbox_put(struct rnic_inbox *inbox, const struct iovec *iov, int cnt)
{
	struct rnic_inbox_shared *shared = inbox->shared;
	size_t len = util_iov_len(iov, cnt);
	struct inbox_copy copy = { .iov = iov, .cnt = cnt };
	uint32_t num;

	if (len > RNIC_INBOX_LEN)
		return -EMSGSIZE;
	if (rnic_inbox_is_left(inbox))
		return -EPIPE;
	num = buffer_claim(shared);
	if (num == RNIC_INBOX_CNT)
		return -EAGAIN;
	copy.to = shared->buf[num].octets;
	if (rnic_guard(inbox_copy, &copy) < 0) {
		buffers_free(shared, num / WORD_BITS, buffer_bit(num));
		return -EFAULT;
	}
	shared->buf[num].len = (uint32_t)len;
	stack_push(shared, num);
	return reader_sleeps(shared);
}

/* ---- reader -------------------------------------------------------------- */

const _Atomic uint64_t *rnic_inbox_word(const struct rnic_inbox *inbox)
{
	return &inbox->shared->top;
}

uint64_t rnic_inbox_seen(const struct rnic_inbox *inbox)
{
	/* relaxed: with a datagram on top it differs from what was seen */
	return atomic_load_explicit(&inbox->shared->top, memory_order_relaxed) &
	       ~(TOP_COUNT - 1);
}

/* The latest is on top.  A stack with a loop ends with as many as there are
 * buffers. */
static void stack_take(struct rnic_inbox *inbox)
{
	struct rnic_inbox_shared *shared = inbox->shared;
	uint64_t top = atomic_load_explicit(&shared->top, memory_order_relaxed);
	uint32_t num, cnt = 0;

	/* acquire: pairs with stack_push() */
	while ((uint32_t)top &&
	       !atomic_compare_exchange_weak_explicit(
		       &shared->top, &top, top & ~(TOP_COUNT - 1),
		       memory_order_acquire, memory_order_relaxed))
		;
	for (num = (uint32_t)top;
	     num && num <= RNIC_INBOX_CNT && cnt < RNIC_INBOX_CNT;
	     num = shared->buf[num - 1].next)
		inbox->taken[RNIC_INBOX_CNT - ++cnt] = (uint8_t)(num - 1);
	inbox->first = RNIC_INBOX_CNT - cnt;
	inbox->cnt = cnt;
}

const void *rnic_inbox_peek(struct rnic_inbox *inbox, uint32_t *ret_len)
{
	uint32_t num;

	if (!inbox->cnt)
		stack_take(inbox);
	if (!inbox->cnt)
		return NULL;
	num = inbox->taken[inbox->first];
	*ret_len = inbox->shared->buf[num].len;
	if (*ret_len > RNIC_INBOX_LEN)
		*ret_len = RNIC_INBOX_LEN;
	return inbox->shared->buf[num].octets;
}

static void done_free(struct rnic_inbox *inbox)
{
	for (uint32_t i = 0; i < WORDS; i++) {
		buffers_free(inbox->shared, i, inbox->done[i]);
		inbox->done[i] = 0;
	}
	inbox->done_cnt = 0;
}

/* Writers look for a free one in a line that the reader writes seldom. */
void rnic_inbox_drop(struct rnic_inbox *inbox)
{
	uint32_t num = inbox->taken[inbox->first];

	inbox->done[num / WORD_BITS] |= buffer_bit(num);
	inbox->first++;
	inbox->cnt--;
	if (++inbox->done_cnt >= DONE_MAX)
		done_free(inbox);
}

bool rnic_inbox_sleep(struct rnic_inbox *inbox)
{
	struct rnic_inbox_shared *shared = inbox->shared;

	done_free(inbox);
	atomic_store_explicit(&shared->reader, READER_ASLEEP,
			      memory_order_relaxed);
	/* Pairs with the fence in reader_sleeps(). */
	atomic_thread_fence(memory_order_seq_cst);
	if (!(uint32_t)atomic_load_explicit(&shared->top, memory_order_relaxed))
		return true;
	rnic_inbox_stay_awake(inbox);
	return false;
}

void rnic_inbox_stay_awake(struct rnic_inbox *inbox)
{
	/* relaxed: a writer that still sees it asleep wakes it once more */
	atomic_store_explicit(&inbox->shared->reader, READER_AWAKE,
			      memory_order_relaxed);
}

void rnic_inbox_leave(struct rnic_inbox *inbox)
{
	if (inbox->shared)
		atomic_store_explicit(&inbox->shared->reader, READER_GONE,
				      memory_order_relaxed);
}
