/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Slots of resources, in chunks of the counter page's file. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "resource.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/cancel.h"
#include "util/clock.h"
#include "util/lock.h"
#include "stat.h"

struct res_chunk {
	uint8_t *mem;
	size_t size;
	bool is_inherited; /* of the parent: nothing is given back there */
};

struct res_kind {
	void **free; /* slots, those at the front of the file last */
	uint32_t free_cnt, slot_cnt;
	uint32_t last_id;
	uint32_t used_cnt, unseen_cnt; /* objects: all; without a slot */
	size_t next_size;	       /* of a chunk */
};

/* All of it is private memory. */
static struct {
	struct util_lock lock;
	struct res_kind kind[USIW_RES_KIND_CNT];
	struct res_chunk chunk[USIW_RES_CHUNK_MAX];
	uint32_t chunk_cnt; /* the parent's, too */
	uint32_t own_cnt;   /* in the file */
	uint32_t last_seq;
} res = { .lock = UTIL_LOCK_INIT(UTIL_RANK_LEAF) };

static struct usiw_res_dir *res_dir(void)
{
	return &rnic_stat_memory.file.res;
}

/* relaxed: numbers, which order nothing */
static void counts_show(enum usiw_res_kind kind)
{
	atomic_store_explicit(&res_dir()->used[kind], res.kind[kind].used_cnt,
			      memory_order_relaxed);
	atomic_store_explicit(&res_dir()->unseen[kind],
			      res.kind[kind].unseen_cnt, memory_order_relaxed);
}

/* ---- chunks -------------------------------------------------------------- */

static void chunk_publish(enum usiw_res_kind kind, uint64_t offset,
			  uint32_t slot_cnt)
{
	struct usiw_res_dir *dir = res_dir();

	dir->chunk[res.own_cnt++] = (struct usiw_res_chunk){
		.offset = offset,
		.slot_cnt = slot_cnt,
		.kind = (uint16_t)kind,
		.slot_size = (uint16_t)usiw_res_size(kind),
	};
	/* release: the entry before the number */
	atomic_store_explicit(&dir->chunk_cnt, res.own_cnt,
			      memory_order_release);
}

/* Room for @more slots to be free. */
static bool free_reserve(struct res_kind *slots, uint32_t more)
{
	void **bigger = realloc(slots->free,
				(slots->slot_cnt + more) * sizeof(*bigger));

	if (bigger)
		slots->free = bigger;
	return bigger;
}

static size_t chunk_size(const struct res_kind *slots, uint32_t slot_size)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);

	if (slots->next_size)
		return slots->next_size;
	return (slot_size + page_size - 1) & ~(page_size - 1);
}

static void chunk_add(enum usiw_res_kind kind)
{
	struct res_kind *slots = &res.kind[kind];
	uint32_t slot_size = usiw_res_size(kind);
	size_t size = chunk_size(slots, slot_size);
	uint32_t cnt = (uint32_t)(size / slot_size);
	uint64_t offset;
	void *mem;

	if (res.chunk_cnt == USIW_RES_CHUNK_MAX || !free_reserve(slots, cnt) ||
	    rnic_stat_extend(size, &mem, &offset) < 0)
		return;
	res.chunk[res.chunk_cnt++] = (struct res_chunk){ mem, size, false };
	for (uint32_t i = cnt; i > 0; i--)
		slots->free[slots->free_cnt++] =
			(uint8_t *)mem + (size_t)(i - 1) * slot_size;
	slots->slot_cnt += cnt;
	slots->next_size = 2 * size;
	chunk_publish(kind, offset, cnt);
}

/* NULL: the slot is private memory of its own. */
static const struct res_chunk *chunk_of(const void *slot)
{
	for (uint32_t i = 0; i < res.chunk_cnt; i++)
		if ((uintptr_t)slot - (uintptr_t)res.chunk[i].mem <
		    res.chunk[i].size)
			return &res.chunk[i];
	return NULL;
}

/* ---- slots --------------------------------------------------------------- */

/* An odd number that no slot has had for long. */
static uint32_t seq_next(void)
{
	res.last_seq += 2;
	return res.last_seq - 1;
}

static void *slot_take(enum usiw_res_kind kind)
{
	struct res_kind *slots = &res.kind[kind];
	void *slot;

	if (!slots->free_cnt)
		chunk_add(kind);
	if (slots->free_cnt)
		return slots->free[--slots->free_cnt];
	slot = util_alloc_lines(1, usiw_res_size(kind));
	if (slot)
		slots->unseen_cnt++;
	return slot;
}

/* Of another object before. */
static void slot_clear(struct usiw_res_head *head, enum usiw_res_kind kind)
{
	atomic_store_explicit(&head->seq, seq_next(), memory_order_relaxed);
	/* release: the odd number before the change */
	atomic_thread_fence(memory_order_release);
	memset(head + 1, 0, usiw_res_size(kind) - sizeof(*head));
	head->made_ns = rnic_res_now_ns();
}

void *rnic_res_take(enum usiw_res_kind kind, uint32_t id)
{
	UTIL_CANCEL_OFF();
	struct usiw_res_head *head;

	util_lock(&res.lock);
	head = slot_take(kind);
	if (head) {
		res.kind[kind].used_cnt++;
		counts_show(kind);
		slot_clear(head, kind);
		head->id = id ? id : ++res.kind[kind].last_id;
	}
	util_unlock(&res.lock);
	return head;
}

/* Return: false: the object was the parent's. */
static bool slot_give(struct res_kind *slots, void *slot)
{
	const struct res_chunk *chunk = chunk_of(slot);
	struct usiw_res_head *head = slot;
	bool is_own = slots->unseen_cnt > 0;

	if (!chunk) {
		free(slot);
		if (is_own) /* else none of this process */
			slots->unseen_cnt--;
		return is_own;
	}
	if (chunk->is_inherited)
		return false;
	/* release: what was written before belongs to the object */
	atomic_store_explicit(&head->seq, 0, memory_order_release);
	slots->free[slots->free_cnt++] = slot;
	return true;
}

void rnic_res_give(enum usiw_res_kind kind, void *slot)
{
	UTIL_LOCKED(&res.lock);

	if (!slot || !slot_give(&res.kind[kind], slot))
		return;
	res.kind[kind].used_cnt--;
	counts_show(kind);
}

/* ---- what stands in them ------------------------------------------------- */

uint64_t rnic_res_now_ns(void)
{
	return util_clock_ns(CLOCK_REALTIME);
}

void rnic_res_set_addr(struct usiw_res_addr *to,
		       const struct sockaddr_storage *from)
{
	*to = (struct usiw_res_addr){ 0 };
	if (!rnic_addr_len(from))
		return;
	to->family = from->ss_family;
	to->port = ntohs(rnic_addr_port_be(from));
	if (from->ss_family == AF_INET6)
		to->scope = ((const struct sockaddr_in6 *)from)->sin6_scope_id;
	memcpy(to->addr, rnic_addr_octets(from),
	       from->ss_family == AF_INET6 ? 16 : 4);
}

/* ---- a forked child ------------------------------------------------------ */

void rnic_res_fork_child(void)
{
	util_lock_init(&res.lock, UTIL_RANK_LEAF);
	for (uint32_t i = 0; i < res.chunk_cnt; i++) {
		struct res_chunk *chunk = &res.chunk[i];

		/* Without memory, what is inherited writes to the parent's. */
		if (!chunk->is_inherited)
			(void)mmap(
				chunk->mem, chunk->size, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		chunk->is_inherited = true;
	}
	res.own_cnt = 0;
	for (int i = 0; i < USIW_RES_KIND_CNT; i++) {
		/* The parent may have been about to exchange the list. */
		res.kind[i] =
			(struct res_kind){ .last_id = res.kind[i].last_id };
	}
}
