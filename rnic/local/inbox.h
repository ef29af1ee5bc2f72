/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * An inbox: memory in which many processes leave datagrams for one reader.
 *
 * A writer claims a free buffer, fills it, and puts it on top of a stack.  The
 * reader takes the whole stack at once.  Each step is one atomic operation, so
 * a writer that is stopped or killed anywhere costs the one buffer that it has,
 * and holds up nobody.
 *
 * Any writer may write to this memory at any time, and need not keep any rule:
 * the reader copies what it decides on, and checks it.  Writers are processes
 * of the same user.
 */
#ifndef RNIC_LOCAL_INBOX_H
#define RNIC_LOCAL_INBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define RNIC_INBOX_CNT 128u  /* buffers */
#define RNIC_INBOX_LEN 4160u /* octets of each */

struct rnic_inbox_shared;

/* One side: the reader, or a writer. */
struct rnic_inbox {
	struct rnic_inbox_shared *shared; /* NULL: there is none */
	/* The reader: what it has taken off the stack, the oldest first. */
	uint32_t first, cnt;
	uint8_t taken[RNIC_INBOX_CNT];
	/* ... and done with, but not freed. */
	uint64_t done[RNIC_INBOX_CNT / 64];
	uint32_t done_cnt;
};

/* The reader's.  *ret_fd: to be given to writers; the caller's.  Return: 0;
 * -errno. */
int rnic_inbox_new(struct rnic_inbox *inbox, int *ret_fd);
/* Is @fd an inbox, made by a process of this user?  Does not block.  Return: 0;
 * -EPROTO. */
int rnic_inbox_check(int fd);
/* A writer's.  Return: 0; -errno. */
int rnic_inbox_map(struct rnic_inbox *inbox, int fd);
/* Either side's, once; nothing if there is none. */
void rnic_inbox_unmap(struct rnic_inbox *inbox);

/* ---- writer ---- */

/*
 * Leaves a datagram.  The source may be memory that cannot be read.
 * Return: 1: the reader is asleep, and is to be woken by the caller; 0;
 * -EAGAIN: no buffer is free; -EFAULT: the source; -EMSGSIZE; -EPIPE: the
 * reader has gone.
 */
int rnic_inbox_put(struct rnic_inbox *inbox, const struct iovec *iov, int cnt);

/* Has the reader gone? */
bool rnic_inbox_is_left(const struct rnic_inbox *inbox);

/* ---- reader ---- */

/* A word that changes with each datagram, and what it was when the reader had
 * taken all. */
const _Atomic uint64_t *rnic_inbox_word(const struct rnic_inbox *inbox);
uint64_t rnic_inbox_seen(const struct rnic_inbox *inbox);

/* The oldest datagram; NULL: there is none.  It stays until it is dropped, and
 * its octets may change. */
const void *rnic_inbox_peek(struct rnic_inbox *inbox, uint32_t *ret_len);
/* The oldest one is done with. */
void rnic_inbox_drop(struct rnic_inbox *inbox);

/* It is about to sleep until it is woken.  Return: false: there is a datagram;
 * it is awake. */
bool rnic_inbox_sleep(struct rnic_inbox *inbox);
/* It looks by itself from now on. */
void rnic_inbox_stay_awake(struct rnic_inbox *inbox);
/* It goes: writers find that out with their next datagram. */
void rnic_inbox_leave(struct rnic_inbox *inbox);

#endif
