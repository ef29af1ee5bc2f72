/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The local path of one stream: octets through the rings, and wake-ups. */
#include "local.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/iov.h"
#include "memory.h"
#include "os/stat.h"
#include "os/stranger.h"
#include "ring.h"

/* The other end may begin with so many octets while this one goes on. */
#define LOCAL_PIECE 16384u

struct rnic_local *rnic_local_new(void *mem, int wake_fd, bool is_active)
{
	struct rnic_local *local = util_alloc_lines(1, sizeof(*local));

	if (!local)
		return NULL;
	local->mem = mem;
	local->wake_fd = wake_fd;
	local->refuses_fds = rnic_stranger_refuse_fds(wake_fd);
	local->is_asleep = true;
	rnic_local_memory_divide(mem, is_active, &local->tx, &local->rx);
	atomic_store_explicit(&local->rx.shared->reader, RNIC_RING_ASLEEP,
			      memory_order_seq_cst);
	return local;
}

void rnic_local_free(struct rnic_local *local)
{
	if (!local)
		return;
	rnic_local_memory_unmap(local->mem);
	rnic_stranger_close(local->wake_fd);
	free(local);
}

/* ---- waking ---- */

bool rnic_local_wake_fd(int wake_fd)
{
	rnic_stat_add(RNIC_STAT_local_wakes, 1);
	/* EAGAIN: enough wake-ups wait there. */
	return syscall(SYS_sendto, wake_fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL,
		       NULL, 0) >= 0 ||
	       errno == EAGAIN;
}

/* Return: false: the other end has no such socket any more. */
static bool local_wake(struct rnic_local *local)
{
	return local->wake_fd >= 0 && rnic_local_wake_fd(local->wake_fd);
}

void rnic_local_leave_tx(struct rnic_local *local)
{
	if (local->has_left_tx)
		return;
	local->has_left_tx = true;
	/* release: behind the octets; pairs with the acquire of
	 * local_is_left() */
	atomic_store_explicit(&local->tx.shared->has_left, 1,
			      memory_order_release);
}

void rnic_local_wake(struct rnic_local *local)
{
	if (!local_wake(local))
		rnic_local_leave_tx(local);
}

/* Octets have been written: is the reader asleep? */
static void local_written(struct rnic_local *local, bool is_short)
{
	struct rnic_ring_shared *shared = local->tx.shared;
	uint32_t asleep = RNIC_RING_ASLEEP;

	local->has_woken = false;
	/* Pairs with the fence in rnic_local_sleep(): a reader that has not
	 * seen the octets is seen asleep. */
	atomic_thread_fence(memory_order_seq_cst);
	switch (atomic_load_explicit(&shared->reader, memory_order_relaxed)) {
	case RNIC_RING_AWAKE:
		return;
	case RNIC_RING_ASLEEP:
		/* One of the two makes it AWAKE, and one wake-up is enough. */
		if (!atomic_compare_exchange_strong_explicit(
			    &shared->reader, &asleep, RNIC_RING_AWAKE,
			    memory_order_relaxed, memory_order_relaxed))
			return;
		local->has_woken = true;
		local->is_wake_due = is_short && local->wakes_later &&
				     local->wake_fd >= 0;
		if (!local->is_wake_due)
			rnic_local_wake(local);
		return;
	default: /* RNIC_RING_LEAVES, or nonsense */
		break;
	}
	rnic_local_leave_tx(local);
}

/* Octets have been read: does the writer wait for room?  It is woken when half
 * of the ring is free. */
static void local_read(struct rnic_local *local)
{
	struct rnic_ring_shared *shared = local->rx.shared;

	/* Pairs with the fence in rnic_local_sleep(): a writer that has not
	 * seen the room is seen waiting. */
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(&shared->writer_waits,
				  memory_order_relaxed) ||
	    local->rx.peer - local->rx.own > RNIC_RING_SIZE / 2)
		return;
	atomic_store_explicit(&shared->writer_waits, 0, memory_order_relaxed);
	/* If it cannot be woken it sends by TCP, as it finds out itself. */
	(void)local_wake(local);
}

bool rnic_local_is_called(const struct rnic_local *local)
{
	/* relaxed: a hint; the wake-up itself comes by the socket */
	return local->is_asleep &&
	       atomic_load_explicit(&local->rx.shared->reader,
				    memory_order_relaxed) != RNIC_RING_ASLEEP;
}

void rnic_local_stay_awake(struct rnic_local *local)
{
	/* If it has been woken, that is still to be taken. */
	if (!rnic_local_is_called(local))
		local->is_asleep = false;
	/* relaxed: a writer that still sees it asleep wakes it once more */
	if (local->wake_fd >= 0)
		atomic_store_explicit(&local->rx.shared->reader,
				      RNIC_RING_AWAKE, memory_order_relaxed);
}

bool rnic_local_sleep(struct rnic_local *local, bool wants_in, bool wants_out)
{
	bool is_due;

	local->is_asleep = wants_in && local->wake_fd >= 0;
	if (local->is_asleep)
		atomic_store_explicit(&local->rx.shared->reader,
				      RNIC_RING_ASLEEP, memory_order_relaxed);
	if (wants_out)
		atomic_store_explicit(&local->tx.shared->writer_waits, 1,
				      memory_order_relaxed);
	/* Pairs with the fences in local_written() and local_read(). */
	atomic_thread_fence(memory_order_seq_cst);
	is_due = (wants_in && rnic_ring_has_octets(&local->rx)) ||
		 (wants_out && rnic_ring_has_room(&local->tx));
	if (is_due)
		rnic_local_stay_awake(local);
	return !is_due;
}

bool rnic_local_woken(struct rnic_local *local)
{
	uint8_t octets[64];
	ssize_t len;

	/* Not for each pass until the next sleep. */
	if (rnic_local_is_called(local))
		local->is_asleep = false;
	len = local->refuses_fds
		      ? rnic_stranger_recv_octets(local->wake_fd, octets,
						  sizeof(octets))
		      : rnic_stranger_recv(local->wake_fd, octets,
					   sizeof(octets), NULL);
	return len > 0 || len == -EAGAIN;
}

void rnic_local_leave_rx(struct rnic_local *local)
{
	local->is_asleep = false;
	atomic_store_explicit(&local->rx.shared->reader, RNIC_RING_LEAVES,
			      memory_order_relaxed);
	/* Pairs with the fence in local_written(): octets that the caller does
	 * not find in the ring now are followed by some on TCP. */
	atomic_thread_fence(memory_order_seq_cst);
	rnic_stranger_close(local->wake_fd);
	local->wake_fd = -1;
}

/* ---- the CPU of a poster ---- */

bool rnic_local_handover(const struct rnic_local *local,
			 struct rnic_handover *ret_handover)
{
	if (!rnic_local_sends(local))
		return false;
	*ret_handover = (struct rnic_handover){
		.read = &local->tx.shared->tail,
		.written = local->tx.own,
		.was_asleep = local->has_woken,
	};
	return true;
}

/* ---- from TCP to the rings ---- */

int rnic_local_tx_begin(struct rnic_local *local, uint64_t tcp_octets)
{
	struct rnic_ring_start start = { .tcp_octets = tcp_octets };
	struct iovec iov = { &start, sizeof(start) };

	if (rnic_ring_write(&local->tx, &iov, 1, 0, sizeof(start)) !=
	    (ssize_t)sizeof(start))
		return -EPROTO;
	local->is_tx_on = true;
	local_written(local, false);
	return 0;
}

int rnic_local_rx_begin(struct rnic_local *local, uint64_t *ret_tcp_octets)
{
	struct rnic_ring_start start;
	struct iovec iov = { &start, sizeof(start) };

	if (!rnic_ring_has_octets(&local->rx))
		return 0;
	if (rnic_ring_read(&local->rx, &iov, 1, 0, sizeof(start)) !=
	    (ssize_t)sizeof(start))
		return -EPROTO;
	*ret_tcp_octets = start.tcp_octets;
	local->is_rx_on = true;
	return 1;
}

/* ---- octets ---- */

ssize_t rnic_local_send(struct rnic_local *local, const struct iovec *iov,
			int cnt)
{
	size_t len = util_iov_len(iov, cnt), done = 0;
	ssize_t rc = 0;

	if (local->has_left_tx)
		return -EPIPE;
	while (done < len && !local->has_left_tx) {
		rc = rnic_ring_write(&local->tx, iov, cnt, done, LOCAL_PIECE);
		if (rc <= 0)
			break;
		done += (size_t)rc;
		/* A long one is read while it is written. */
		local_written(local, len <= LOCAL_PIECE);
	}
	if (done > 0)
		return (ssize_t)done;
	return rc < 0 ? rc : -EAGAIN;
}

/* Has the other end left the ring, and is it read to the end? */
static bool local_is_left(const struct rnic_local *local)
{
	/* acquire: pairs with the release of rnic_local_leave_tx() */
	return atomic_load_explicit(&local->rx.shared->has_left,
				    memory_order_acquire) &&
	       !rnic_ring_has_octets(&local->rx);
}

ssize_t rnic_local_recv(struct rnic_local *local, const struct iovec *iov,
			int cnt)
{
	size_t len = util_iov_len(iov, cnt), done = 0;
	ssize_t rc;

	if (local->has_left_rx)
		return -EPIPE;
	do {
		if (cnt == 0)
			rc = rnic_ring_discard(&local->rx);
		else
			rc = rnic_ring_read(&local->rx, iov, cnt, done,
					    LOCAL_PIECE);
		if (rc <= 0)
			break;
		done += (size_t)rc;
		local_read(local);
	} while (done < len);
	if (done > 0)
		return (ssize_t)done;
	if (rc < 0)
		return rc;
	local->has_left_rx = local_is_left(local);
	return local->has_left_rx ? -EPIPE : -EAGAIN;
}

uint64_t rnic_local_acked(const struct rnic_local *local)
{
	return atomic_load_explicit(&local->tx.shared->tail,
				    memory_order_relaxed);
}
