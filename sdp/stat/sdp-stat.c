/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Writing of the statistics page.
 *
 * The page's address never changes: private memory is mapped there first, then
 * the page replaces it, and in a forked child private memory replaces the page.
 * So a socket may always keep the pointer to its slot.
 */
#define _GNU_SOURCE /* program_invocation_short_name, MAP_ANONYMOUS */
#include "stat/sdp-stat.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/cancel.h"
#include "util/keep-errno.h"
#include "util/lock.h"
#include "util/log.h"
#include "util/page.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define PAGE_NAME "usiw-sdp"
#define HEAD_SIZE sizeof(struct sdp_stat_page)
#define PAGE_SIZE_MAX                                                          \
	(HEAD_SIZE + SDP_STAT_SOCK_MAX * sizeof(struct sdp_stat_sock))
/* Slots are allocated in pieces of this size. */
#define FILL_SIZE 16384u
#define NO_SLOT UINT16_MAX

_Static_assert(SDP_STAT_SOCK_MAX <= NO_SLOT, "slot numbers have 16 bits");

/* The page in use before any memory could be allocated. */
static struct sdp_stat_page nowhere;

static struct {
	struct util_lock lock; /* protects everything except the pointer */
	_Atomic(struct sdp_stat_page *) page;
	_Atomic bool is_made;
	int fd;
	size_t filled;
	uint32_t last_id;
	uint32_t last_seq;
	/* The list of free slots. It is in private memory, because other
	 * processes can write to the page. */
	uint16_t free_first;
	uint16_t free_next[SDP_STAT_SOCK_MAX];
	uint32_t used_cnt; /* number of slots that were ever used */
} stat = {
	.lock = UTIL_LOCK_INIT(UTIL_RANK_LEAF),
	.page = &nowhere,
	.fd = -1,
	.free_first = NO_SLOT,
};

static void page_head_fill(struct sdp_stat_page *page)
{
	page->version = SDP_STAT_VERSION;
	page->pid = (uint32_t)getpid();
	page->sock_max = SDP_STAT_SOCK_MAX;
	page->start_ns = util_clock_ns(CLOCK_REALTIME);
	strncpy(page->program, program_invocation_short_name,
		sizeof(page->program) - 1);
	atomic_store_explicit(&page->sock_cnt, stat.used_cnt,
			      memory_order_relaxed);
	/* release: a reader that sees the magic number sees the rest */
	__atomic_store_n(&page->magic, SDP_STAT_MAGIC, __ATOMIC_RELEASE);
}

/* Maps private memory at an address that the kernel chooses, or at @at. */
static void *private_map(void *at)
{
	return mmap(at, PAGE_SIZE_MAX, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
			    (at ? MAP_FIXED : 0),
		    -1, 0);
}

static void make_locked(void)
{
	struct sdp_stat_page *page =
		atomic_load_explicit(&stat.page, memory_order_relaxed);
	struct util_page made;
	void *mem;
	int ret;

	if (page == &nowhere) {
		mem = private_map(NULL);
		if (mem == MAP_FAILED)
			return;
		page = mem;
	}
	stat.filled = (HEAD_SIZE + FILL_SIZE - 1) / FILL_SIZE * FILL_SIZE;
	ret = util_page_make("sdp", PAGE_NAME, PAGE_SIZE_MAX, stat.filled, page,
			     &made);
	if (ret < 0)
		util_warn("sdp", "stat: cannot create the page for sdpstat: %s",
			  strerror(-ret));
	else if (made.is_file)
		util_sys_close(made.fd);
	else
		stat.fd = made.fd;
	page_head_fill(page);
	/* release: pairs with the acquire in page_get() */
	atomic_store_explicit(&stat.page, page, memory_order_release);
	atomic_store_explicit(&stat.is_made, true, memory_order_release);
}

/* Further calls do nothing. */
static void page_make(void)
{
	UTIL_CANCEL_OFF();
	UTIL_KEEP_ERRNO();

	util_lock(&stat.lock);
	if (!atomic_load_explicit(&stat.is_made, memory_order_relaxed))
		make_locked();
	util_unlock(&stat.lock);
}

static struct sdp_stat_page *page_get(void)
{
	/* acquire: pairs with the release in make_locked() */
	if (!atomic_load_explicit(&stat.is_made, memory_order_acquire))
		page_make();
	return atomic_load_explicit(&stat.page, memory_order_acquire);
}

int sdp_stat_fd_take(void)
{
	int fd;

	page_make();
	util_lock(&stat.lock);
	fd = stat.fd;
	stat.fd = -1;
	util_unlock(&stat.lock);
	return fd;
}

/* Allocates memory for slot @idx. A full disk must not cause SIGBUS. */
static bool slot_fill(struct sdp_stat_page *page, uint32_t idx)
{
	size_t end = HEAD_SIZE + (idx + 1) * sizeof(struct sdp_stat_sock);
	size_t len = FILL_SIZE;

	if (end <= stat.filled)
		return true;
	/* In a forked child the first slots belong to the parent. */
	while (stat.filled + len < end)
		stat.filled += len;
	if (stat.filled + len > PAGE_SIZE_MAX)
		len = PAGE_SIZE_MAX - stat.filled;
	if (madvise((uint8_t *)page + stat.filled, len, MADV_POPULATE_WRITE))
		return false;
	stat.filled += len;
	return true;
}

/* Return: a slot, or NO_SLOT. */
static uint32_t slot_take(struct sdp_stat_page *page)
{
	uint32_t idx = stat.free_first;

	if (idx != NO_SLOT) {
		stat.free_first = stat.free_next[idx];
		return idx;
	}
	idx = stat.used_cnt;
	if (idx == SDP_STAT_SOCK_MAX || !slot_fill(page, idx))
		return NO_SLOT;
	stat.used_cnt++;
	/* release: the slot is zero, and thus free, before it is counted */
	atomic_store_explicit(&page->sock_cnt, stat.used_cnt,
			      memory_order_release);
	return idx;
}

/* Returns an even number that differs from the slot's last number and from
 * 0. */
static uint32_t next_seq(void)
{
	stat.last_seq += 2;
	if (stat.last_seq == 0)
		stat.last_seq = 2;
	return stat.last_seq;
}

/* Begin and end of a change. A reader that sees the state in between tries
 * again. */
static void seq_open(_Atomic uint32_t *seq, uint32_t odd)
{
	atomic_store_explicit(seq, odd, memory_order_relaxed);
	/* the number is written before the change */
	atomic_thread_fence(memory_order_release);
}

static void seq_close(_Atomic uint32_t *seq, uint32_t even)
{
	/* release: the change is written before the number */
	atomic_store_explicit(seq, even, memory_order_release);
}

static void addr_clear(struct sdp_stat_addr *addr)
{
	atomic_store_explicit(&addr->head, 0, memory_order_relaxed);
	for (int i = 0; i < 2; i++)
		atomic_store_explicit(&addr->addr[i], 0, memory_order_relaxed);
}

static void slot_start(struct sdp_stat_sock *sock)
{
	uint32_t seq = next_seq();

	seq_open(&sock->seq, seq - 1);
	atomic_store_explicit(&sock->id, ++stat.last_id, memory_order_relaxed);
	addr_clear(&sock->local);
	addr_clear(&sock->peer);
	for (int i = 0; i < SDP_STAT_GAUGE_CNT; i++)
		atomic_store_explicit(&sock->gauge[i], 0, memory_order_relaxed);
	for (int i = 0; i < SDP_STAT_COUNTER_CNT; i++)
		atomic_store_explicit(&sock->counter[i], 0,
				      memory_order_relaxed);
	sdp_stat_set(sock, SDP_STAT_fd, UINT32_MAX);
	seq_close(&sock->seq, seq);
}

struct sdp_stat_sock *sdp_stat_sock_add(void)
{
	struct sdp_stat_page *page = page_get();
	struct sdp_stat_sock *sock = &page->overflow;
	UTIL_KEEP_ERRNO();
	uint32_t idx = NO_SLOT;

	util_lock(&stat.lock);
	if (page != &nowhere)
		idx = slot_take(page);
	if (idx != NO_SLOT) {
		sock = &page->sock[idx];
		slot_start(sock);
	}
	util_unlock(&stat.lock);
	if (idx == NO_SLOT)
		sdp_stat_count(SDP_STAT_overflows);
	return sock;
}

void sdp_stat_sock_remove(struct sdp_stat_sock *sock)
{
	struct sdp_stat_page *page = page_get();
	uint32_t fold;
	size_t idx;

	if (sock < page->sock || sock >= page->sock + SDP_STAT_SOCK_MAX)
		return; /* the overflow slot */
	idx = (size_t)(sock - page->sock);
	util_lock(&stat.lock);
	/* 0: it belonged to the parent, before fork(). */
	if (atomic_load_explicit(&sock->seq, memory_order_relaxed) != 0) {
		fold = atomic_load_explicit(&page->fold_seq,
					    memory_order_relaxed);
		seq_open(&page->fold_seq, fold + 1);
		for (int i = 0; i < SDP_STAT_COUNTER_CNT; i++)
			atomic_fetch_add_explicit(
				&page->closed[i],
				atomic_load_explicit(&sock->counter[i],
						     memory_order_relaxed),
				memory_order_relaxed);
		seq_close(&sock->seq, 0);
		seq_close(&page->fold_seq, fold + 2);
		stat.free_next[idx] = stat.free_first;
		stat.free_first = (uint16_t)idx;
	}
	util_unlock(&stat.lock);
}

static void addr_set(struct sdp_stat_addr *to, const struct sockaddr *from)
{
	const struct sockaddr_in6 *in6 = (const void *)from;
	const struct sockaddr_in *in = (const void *)from;
	uint64_t head = (uint64_t)from->sa_family << 48, word[2] = { 0 };

	if (from->sa_family == AF_INET) {
		head |= (uint64_t)ntohs(in->sin_port) << 32;
		word[0] = ntohl(in->sin_addr.s_addr);
	} else if (from->sa_family == AF_INET6) {
		head |= (uint64_t)ntohs(in6->sin6_port) << 32;
		head |= in6->sin6_scope_id;
		for (int i = 0; i < 16; i++)
			word[i / 8] = word[i / 8] << 8 |
				      in6->sin6_addr.s6_addr[i];
	} else {
		head = 0;
	}
	atomic_store_explicit(&to->head, head, memory_order_relaxed);
	for (int i = 0; i < 2; i++)
		atomic_store_explicit(&to->addr[i], word[i],
				      memory_order_relaxed);
}

void sdp_stat_sock_name(struct sdp_stat_sock *sock,
			const struct sockaddr *local,
			const struct sockaddr *peer)
{
	uint32_t seq;

	util_lock(&stat.lock);
	/* 0: the overflow slot, or one of the parent. */
	if (atomic_load_explicit(&sock->seq, memory_order_relaxed) != 0) {
		seq = next_seq();
		seq_open(&sock->seq, seq - 1);
		if (local)
			addr_set(&sock->local, local);
		if (peer)
			addr_set(&sock->peer, peer);
		seq_close(&sock->seq, seq);
	}
	util_unlock(&stat.lock);
}

#define TEXT(name, text) text,

void sdp_stat_fell_back(struct sdp_stat_sock *sock,
			enum sdp_stat_fallback reason)
{
	static const char *const texts[] = { SDP_STAT_FALLBACKS(TEXT) };

	util_info("sdp", "a connection uses TCP: %s", texts[reason]);
	atomic_fetch_add_explicit(&page_get()->fallback[reason], 1,
				  memory_order_relaxed);
	if (!sock)
		return;
	sdp_stat_set(sock, SDP_STAT_fallback, reason);
	sdp_stat_set(sock, SDP_STAT_state, SDP_STAT_STATE_tcp);
}

void sdp_stat_count(enum sdp_stat_event event)
{
	atomic_fetch_add_explicit(&page_get()->event[event], 1,
				  memory_order_relaxed);
}

/*
 * Slots that the parent used stay empty in the child, because an inherited
 * socket may still write to its slot.
 */
void sdp_stat_fork_child(void)
{
	struct sdp_stat_page *page =
		atomic_load_explicit(&stat.page, memory_order_relaxed);

	util_lock_init(&stat.lock, UTIL_RANK_LEAF);
	if (!atomic_load_explicit(&stat.is_made, memory_order_relaxed))
		return;
	atomic_store_explicit(&stat.is_made, false, memory_order_relaxed);
	stat.free_first = NO_SLOT;
	if (stat.fd >= 0)
		util_sys_close(stat.fd);
	stat.fd = -1;
	/* Without memory for a copy, the child counts in the parent's page. */
	if (page != &nowhere && private_map(page) == MAP_FAILED)
		atomic_store_explicit(&stat.is_made, true,
				      memory_order_relaxed);
}
