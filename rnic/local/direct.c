/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A Write goes directly into the peer's memory, by the thread that posts it. */
#include "direct.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../../util/cancel.h"
#include "../../util/env.h"
#include "../../util/log.h"
#include "memory.h"
#include "os/addr.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/write-if.h"

/* So many Writes, one by one, have had to wake the reader before it is worth
 * some system calls and a descriptor to find out whether they could do without.
 */
#define DIRECT_AFTER 8
/* Octets of a Write that are seen last: a program may spin on them. */
#define DIRECT_TAIL 8u
/* How long the target waits for a call of the placer.  It takes microseconds,
 * unless the placer has lost its CPU inside the kernel, or breaks the rules. */
#define DIRECT_SPINS 1000
#define DIRECT_WAIT_NS (1000 * NS_PER_MS)
/* ... and how long before it looks whether the placer is stopped. */
#define DIRECT_STOPPED_NS (10 * NS_PER_MS)

void rnic_direct_init(struct rnic_direct *direct, void *mem, bool is_active,
		      const int *wake_fd)
{
	*direct = (struct rnic_direct){ .mem_fd = -1, .wake_fd = wake_fd };
	rnic_local_memory_divide_direct(mem, is_active, direct);
	direct->is_closed = !util_settings()->local_direct;
	if (util_settings()->local_direct)
		direct->state = RNIC_DIRECT_NEW;
}

static void direct_off(struct rnic_direct *direct)
{
	direct->state = RNIC_DIRECT_OFF;
	rnic_fd_close(direct->mem_fd);
	direct->mem_fd = -1;
}

void rnic_direct_fini(struct rnic_direct *direct)
{
	direct->is_closed = true;
	rnic_direct_revoke_all(direct);
	direct_off(direct);
}

/* Return: the other end's process; -EACCES: of another user, or not in this
 * process's name space. */
static pid_t peer_pid(const struct rnic_direct *direct)
{
	uid_t uid;
	pid_t pid = rnic_sock_peer(*direct->wake_fd, &uid);

	return pid > 0 && uid == geteuid() ? pid : -EACCES;
}

/* ---- the placer ---------------------------------------------------------- */

/* Return: in the fd table; -errno: the kernel does not allow it. */
static int mem_open(const struct rnic_direct *direct)
{
	pid_t pid = peer_pid(direct);
	char path[32];

	if (pid < 0)
		return pid;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	return rnic_fd_spare(rnic_fd_own(
		(int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC)));
}

static void direct_ask(struct rnic_direct *direct)
{
	struct rnic_direct_shared *shared = direct->tx;

	if (!rnic_write_if_works() ||
	    util_sys_getrandom(direct->number, sizeof(direct->number)) !=
		    (ssize_t)sizeof(direct->number)) {
		direct_off(direct);
		return;
	}
	direct->mem_fd = mem_open(direct);
	if (direct->mem_fd < 0) {
		direct_off(direct);
		return;
	}
	for (int i = 0; i < 2; i++)
		atomic_store_explicit(&shared->question.number[i],
				      direct->number[i], memory_order_relaxed);
	/* release: pairs with direct_answer() */
	atomic_store_explicit(&shared->question.is_asked, 1,
			      memory_order_release);
	direct->state = RNIC_DIRECT_ASKED;
}

/* Is it the memory of the peer?  Then it has the number that only the peer
 * knows. */
static bool mem_is_peers(const struct rnic_direct *direct)
{
	uint64_t addr = atomic_load_explicit(&direct->tx->answer.number_addr,
					     memory_order_relaxed);
	uint64_t found[2] = { 0 };

	return syscall(SYS_pread64, direct->mem_fd, found, sizeof(found),
		       addr) == (long)sizeof(found) &&
	       memcmp(found, direct->number, sizeof(found)) == 0;
}

static void direct_take_answer(struct rnic_direct *direct)
{
	/* acquire: pairs with direct_answer() */
	if (!atomic_load_explicit(&direct->tx->answer.is_given,
				  memory_order_acquire))
		return;
	if (mem_is_peers(direct))
		direct->state = RNIC_DIRECT_READY;
	else
		direct_off(direct);
}

/* The slot that allows the Write, and where its octets go.  NULL: none.  The
 * target may write anything there at any time, and harms nobody but itself: the
 * address is one of its own. */
static const struct rnic_direct_slot *
slot_find(const struct rnic_direct_shared *shared,
	  const struct rnic_direct_write *write, uint32_t *ret_gen,
	  uint64_t *ret_addr)
{
	const struct rnic_direct_slot *slot = shared->slot;
	uint64_t off, len;

	for (int i = 0; i < RNIC_DIRECT_SLOTS; i++, slot++) {
		/* acquire: pairs with rnic_direct_grant() */
		*ret_gen =
			atomic_load_explicit(&slot->gen, memory_order_acquire);
		if (!*ret_gen ||
		    atomic_load_explicit(&slot->stag, memory_order_relaxed) !=
			    write->stag)
			continue;
		off = write->to -
		      atomic_load_explicit(&slot->iova, memory_order_relaxed);
		len = atomic_load_explicit(&slot->len, memory_order_relaxed);
		if (off > len || write->len > len - off)
			return NULL; /* the ring leads to the error */
		*ret_addr = off + atomic_load_explicit(&slot->addr,
						       memory_order_relaxed);
		return slot;
	}
	return NULL;
}

/* The kernel may copy the octets of one piece in any order, as "rep movsb" does
 * from some hundred octets on.  So the last ones are a piece of their own. */
static int write_divide(const struct rnic_direct_write *write,
			struct iovec iov[2])
{
	size_t tail = write->len < DIRECT_TAIL ? write->len : DIRECT_TAIL;
	uint8_t *end = (uint8_t *)write->base + write->len;
	int cnt = 0;

	if (write->len > tail)
		iov[cnt++] = (struct iovec){ write->base, write->len - tail };
	iov[cnt++] = (struct iovec){ end - tail, tail };
	return cnt;
}

static bool direct_write(struct rnic_direct *direct,
			 const struct rnic_direct_write *write)
{
	struct rnic_direct_shared *shared = direct->tx;
	const struct rnic_direct_slot *slot;
	struct iovec iov[2];
	int cnt = write_divide(write, iov);
	uint64_t addr = 0;
	uint32_t gen;
	long rc;

	slot = slot_find(shared, write, &gen, &addr);
	if (!slot)
		return false;
	atomic_store_explicit(&shared->call.is_busy, 1, memory_order_relaxed);
	/* Pairs with the fence in slots_settle(): the target sees the call, or
	 * the call sees that nothing is granted. */
	atomic_thread_fence(memory_order_seq_cst);
	rc = rnic_write_if(direct->mem_fd, iov, cnt, addr, &slot->gen, gen);
	/* release: the call is over */
	atomic_store_explicit(&shared->call.is_busy, 0, memory_order_release);
	if (rc == (long)write->len)
		return true;
	/* The process has ended, or the memory is not there any more.  The ring
	 * leads to the error.  An interruption is nothing. */
	if (rc != -EAGAIN && rc != -ECANCELED)
		direct_off(direct);
	return false;
}

bool rnic_direct_put(struct rnic_direct *direct,
		     const struct rnic_direct_write *write)
{
	if (direct->state == RNIC_DIRECT_NEW &&
	    ++direct->write_cnt >= DIRECT_AFTER)
		direct_ask(direct);
	else if (direct->state == RNIC_DIRECT_ASKED)
		direct_take_answer(direct);
	return direct->state == RNIC_DIRECT_READY &&
	       write->len <= RNIC_DIRECT_MAX &&
	       write->len !=
		       atomic_load_explicit(&direct->tx->answer.excluded_len,
					    memory_order_relaxed) &&
	       direct_write(direct, write);
}

/* ---- the target ---------------------------------------------------------- */

static bool direct_answer(struct rnic_direct *direct, uint32_t excluded_len)
{
	struct rnic_direct_shared *shared = direct->rx;

	/* acquire: pairs with direct_ask() */
	if (!atomic_load_explicit(&shared->question.is_asked,
				  memory_order_acquire))
		return false;
	/* Addresses are told to nobody else (USIW_LOCAL=any). */
	direct->pid = peer_pid(direct);
	if (direct->pid < 0) {
		direct->is_closed = true;
		return false;
	}
	for (int i = 0; i < 2; i++)
		direct->kept[i] = atomic_load_explicit(
			&shared->question.number[i], memory_order_relaxed);
	atomic_store_explicit(&shared->answer.excluded_len, excluded_len,
			      memory_order_relaxed);
	atomic_store_explicit(&shared->answer.number_addr,
			      (uint64_t)(uintptr_t)direct->kept,
			      memory_order_relaxed);
	/* release: pairs with direct_take_answer() */
	atomic_store_explicit(&shared->answer.is_given, 1,
			      memory_order_release);
	return true;
}

bool rnic_direct_is_granted(const struct rnic_direct *direct, uint32_t stag)
{
	for (int i = 0; i < RNIC_DIRECT_SLOTS; i++) {
		if (direct->granted[i].is_used &&
		    direct->granted[i].stag == stag)
			return true;
	}
	return false;
}

/* The placer's process has ended: its sockets are closed after its last call.
 */
static bool placer_has_ended(const struct rnic_direct *direct)
{
	struct pollfd pfd = { .fd = *direct->wake_fd };

	return util_sys_poll(&pfd, 1, 0) > 0;
}

/* The placer's process is stopped, by a signal or a debugger.  What its threads
 * had begun is done: they stop when they leave the kernel. */
static bool placer_is_stopped(const struct rnic_direct *direct)
{
	char path[32], text[256];
	const char *state;
	ssize_t len;
	long fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", direct->pid);
	fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = util_sys_read((int)fd, text, sizeof(text) - 1);
	util_sys_close((int)fd);
	text[len > 0 ? len : 0] = '\0';
	state = strrchr(text, ')'); /* the name before it may be anything */
	return state &&
	       (strncmp(state, ") T", 3) == 0 || strncmp(state, ") t", 3) == 0);
}

static bool call_is_over(const struct rnic_direct *direct)
{
	/* acquire: pairs with direct_write() */
	return !atomic_load_explicit(&direct->rx->call.is_busy,
				     memory_order_acquire);
}

/* Return: false: it takes too long. */
static bool call_wait(const struct rnic_direct *direct)
{
	uint64_t begin_ns, now_ns;
	bool is_slow = false;

	for (int i = 0; i < DIRECT_SPINS; i++) {
		if (call_is_over(direct))
			return true;
	}
	begin_ns = rnic_now_ns();
	do {
		if (call_is_over(direct) || placer_has_ended(direct) ||
		    (is_slow && placer_is_stopped(direct)))
			return true;
		sched_yield();
		now_ns = rnic_now_ns();
		is_slow = now_ns - begin_ns > DIRECT_STOPPED_NS;
	} while (now_ns - begin_ns < DIRECT_WAIT_NS);
	return false;
}

/* Slots have been emptied: no octet comes by them behind this. */
static void slots_settle(struct rnic_direct *direct)
{
	/* Pairs with the fence in direct_write(). */
	atomic_thread_fence(memory_order_seq_cst);
	if (call_wait(direct))
		return;
	/* The kernel lets such a placer write here; no rule of ours stops it.
	 */
	util_warn("rnic",
		  "process %d has been writing to this one for a second; "
		  "its messages go through the rings from now on",
		  direct->pid);
	direct->is_closed = true;
	for (int i = 0; i < RNIC_DIRECT_SLOTS; i++) {
		direct->granted[i].is_used = false;
		atomic_store_explicit(&direct->rx->slot[i].gen, 0,
				      memory_order_relaxed);
	}
}

/* Return: whether there was anything. */
static bool slot_empty(struct rnic_direct *direct, int i)
{
	if (!direct->granted[i].is_used)
		return false;
	direct->granted[i].is_used = false;
	atomic_store_explicit(&direct->rx->slot[i].gen, 0,
			      memory_order_relaxed);
	return true;
}

void rnic_direct_grant(struct rnic_direct *direct,
		       const struct rnic_direct_region *region,
		       uint32_t excluded_len)
{
	uint32_t at = direct->next;
	struct rnic_direct_slot *slot = &direct->rx->slot[at];

	if (rnic_direct_is_granted(direct, region->stag))
		return;
	if (!direct->pid && !direct_answer(direct, excluded_len))
		return;
	if (slot_empty(direct, (int)at))
		slots_settle(direct);
	if (direct->is_closed)
		return;
	direct->next = (at + 1) % RNIC_DIRECT_SLOTS;
	direct->granted[at].is_used = true;
	direct->granted[at].stag = region->stag;
	atomic_store_explicit(&slot->stag, region->stag, memory_order_relaxed);
	atomic_store_explicit(&slot->iova, region->iova, memory_order_relaxed);
	atomic_store_explicit(&slot->len, region->len, memory_order_relaxed);
	atomic_store_explicit(&slot->addr, region->addr, memory_order_relaxed);
	if (++direct->gen == 0)
		direct->gen = 1;
	/* release: pairs with slot_find() */
	atomic_store_explicit(&slot->gen, direct->gen, memory_order_release);
}

void rnic_direct_revoke(struct rnic_direct *direct, uint32_t stag)
{
	for (int i = 0; i < RNIC_DIRECT_SLOTS; i++) {
		if (direct->granted[i].stag == stag && slot_empty(direct, i))
			slots_settle(direct);
	}
}

void rnic_direct_revoke_all(struct rnic_direct *direct)
{
	bool was_granted = false;

	for (int i = 0; i < RNIC_DIRECT_SLOTS; i++)
		was_granted |= slot_empty(direct, i);
	if (was_granted)
		slots_settle(direct);
}
