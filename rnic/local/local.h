/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The local path of one stream: octets through the rings, and wake-ups.
 *
 * Either direction can go back to TCP at any time, at its writer's will: the
 * writer says so behind its last octet in the ring, and the reader goes on with
 * the socket when it has read the ring to that place.
 */
#ifndef RNIC_LOCAL_H
#define RNIC_LOCAL_H

#include <sys/types.h>
#include <sys/uio.h>

#include "handover.h"
#include "object.h"

/*
 * @mem: from rnic_local_memory_map(), @wake_fd: in the fd table.  Both are the
 *   object's.  NULL: out of memory; then they are the caller's.
 * Both readers are asleep at first.
 */
struct rnic_local *rnic_local_new(void *mem, int wake_fd, bool is_active);
/* NULL: nothing. */
void rnic_local_free(struct rnic_local *local);

/* ---- from TCP to the rings ---- */

/*
 * Send by the ring from here on.  @tcp_octets: what this end has sent by TCP.
 * The other end has to have the memory: the active side has taken it, the
 * passive side has heard from the active side.
 * Return: 0; perhaps has_left_tx, because the other end cannot be woken;
 * -EPROTO: the other end breaks the rules, and nothing has changed.
 */
int rnic_local_tx_begin(struct rnic_local *local, uint64_t tcp_octets);

/*
 * Has the other end begun to send by the ring?
 * @tcp_octets: what it has sent by TCP before.
 * Return: 1: yes, this is the first call that says so; 0: not yet; -EPROTO.
 */
int rnic_local_rx_begin(struct rnic_local *local, uint64_t *ret_tcp_octets);

/* ---- octets ---- */

/*
 * With wakes_later, is_wake_due may be set: the caller wakes the other end, by
 * rnic_local_wake() or as that does.
 * Return: octets taken; -EAGAIN: the ring is full; -EPIPE: nothing is taken,
 * and the octets go by TCP, as all that follow; -EFAULT: the source cannot be
 *   read; -EPROTO: the other end breaks the rules.
 */
ssize_t rnic_local_send(struct rnic_local *local, const struct iovec *iov,
			int cnt);

/*
 * @cnt 0: throw away what is there.
 * Return: octets; -EAGAIN: there is nothing; -EPIPE: the other end sends by TCP
 *   now, and nothing is left here; -EFAULT, -EPROTO: as above.
 */
ssize_t rnic_local_recv(struct rnic_local *local, const struct iovec *iov,
			int cnt);

/* Octets that the other end has taken out of its ring. */
uint64_t rnic_local_acked(const struct rnic_local *local);

/* ---- wake ---- */

/* Of rnic_local_send().  If the other end cannot be woken, this one sends by
 * TCP from here on. */
void rnic_local_wake(struct rnic_local *local);

/* The same for the socket alone, without the object.  Return: false: the other
 * end cannot be woken. */
bool rnic_local_wake_fd(int wake_fd);

/* ---- the CPU of a poster ---- */

/* What this end has written last.  Return: false: not by the ring. */
bool rnic_local_handover(const struct rnic_local *local,
			 struct rnic_handover *ret_handover);

/* ---- sleep ---- */

/* This end looks at its ring by itself from now on. */
void rnic_local_stay_awake(struct rnic_local *local);

/*
 * Is about to look at nothing until it is woken.  @wants_in, @wants_out: for
 * octets; for room.
 * Return: false: there is something to do at once; it is awake.
 */
bool rnic_local_sleep(struct rnic_local *local, bool wants_in, bool wants_out);

/* Has the other end woken this one, which has found the octets by itself?  The
 * socket is readable then, or is about to be. */
bool rnic_local_is_called(const struct rnic_local *local);

/* The socket is readable.  Return: false: the other end can neither be woken
 * nor wake this one any more. */
bool rnic_local_woken(struct rnic_local *local);

/* ---- back to TCP ---- */

/* Send by TCP from here on. */
void rnic_local_leave_tx(struct rnic_local *local);

/* This end cannot be woken: ask the other end to send by TCP.  It does so with
 * the next octets that it has. */
void rnic_local_leave_rx(struct rnic_local *local);

/* Octets of the stream that this end has taken out of its ring. */
static inline uint64_t rnic_local_received(const struct rnic_local *local)
{
	return local->is_rx_on ? local->rx.own - sizeof(struct rnic_ring_start)
			       : 0;
}

/* Do octets of this end leave by the ring? */
static inline bool rnic_local_sends(const struct rnic_local *local)
{
	return local->is_tx_on && !local->has_left_tx;
}

#endif
