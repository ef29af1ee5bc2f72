/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A Write goes directly into the peer's memory, by the thread that posts it.
 *
 * A receiver that spins on its memory, and one that sleeps, needs its
 * completion thread for each message of the ring.  To wake that thread takes a
 * system call here, and a switch of threads there, on a CPU that may be busy.
 * A system call can as well write the octets themselves into the memory of the
 * other process. So this is done where the reader would have to be woken, and
 * nowhere else.
 *
 * Each direction has a placer, whose Writes these are, and a target.
 *
 * 1. The placer opens /proc/PID/mem of the target, if the kernel allows it (the
 *    rules of ptrace(2)), and asks.  The descriptor means the memory of that
 *    process, not the PID: after exit or execve() nothing can be written to it.
 * 2. The target copies the random number of the question to its own memory, and
 *    answers with its address.  The placer finds the number there.  So the
 *    memory is that of the peer, and not of another process that has its PID in
 *    another name space, or has it now.
 * 3. The target grants a region when a Write to it has passed all checks.
 * 4. The placer writes to what has been granted, and nowhere else.
 * 5. The target revokes what it has granted before the region, its rights or
 * the connection end, and waits for a call that has begun (os/write-if.h says
 * why no other can begin).
 *
 * The target keeps the rules of verbs by this, also towards a placer that has
 * been stopped.  It is no protection from a placer that breaks the rules: the
 * kernel lets such a process write to the target's memory anyway.
 */
#ifndef RNIC_DIRECT_H
#define RNIC_DIRECT_H

#include "object.h"

/* The octets of one Write, of one piece. */
struct rnic_direct_write {
	uint32_t stag;
	uint64_t to;
	void *base;
	size_t len;
};

/* What a region allows.  @addr: where in the target its octet @iova is. */
struct rnic_direct_region {
	uint32_t stag;
	uint64_t iova;
	uint64_t len;
	uint64_t addr;
};

/*
 * @mem: of the rings.
 * @wake_fd: where the object's owner has the connection with the other end,
 * which tells the other process, and its end.
 */
void rnic_direct_init(struct rnic_direct *direct, void *mem, bool is_active,
		      const int *wake_fd);
/* Revokes everything first. */
void rnic_direct_fini(struct rnic_direct *direct);

/* ---- the placer ---- */

/* Longer Writes go by the ring: several threads are faster at copying. */
#define RNIC_DIRECT_MAX 16384u

/* Is it worth while to look whether a Write could be written directly? */
static inline bool rnic_direct_may(const struct rnic_direct *direct)
{
	return direct->state != RNIC_DIRECT_OFF;
}

/*
 * The reader would have to be woken for this Write, and has placed all octets
 * before.  The first calls only find out whether it can be done.
 * Return: true: it is placed; false: use the ring, as if nothing had happened;
 *   some of its octets may be placed already.
 */
bool rnic_direct_put(struct rnic_direct *direct,
		     const struct rnic_direct_write *write);

/* ---- the target ---- */

/* Has the placer asked, so that regions are to be granted? */
static inline bool rnic_direct_is_wanted(const struct rnic_direct *direct)
{
	/* relaxed: rnic_direct_grant() acquires */
	return !direct->is_closed &&
	       atomic_load_explicit(&direct->rx->question.is_asked,
				    memory_order_relaxed);
}

/* @excluded_len: Writes of so many octets have to go by the ring; 0: none. */
void rnic_direct_grant(struct rnic_direct *direct,
		       const struct rnic_direct_region *region,
		       uint32_t excluded_len);

/* Does the placer know that it may write there? */
bool rnic_direct_is_granted(const struct rnic_direct *direct, uint32_t stag);

/*
 * Afterwards nothing is written there.  Waits for a call of the placer that has
 * begun: some microseconds, 10 ms if it has been stopped behind the call, and a
 * second at most.
 */
void rnic_direct_revoke(struct rnic_direct *direct, uint32_t stag);
void rnic_direct_revoke_all(struct rnic_direct *direct);

#endif
