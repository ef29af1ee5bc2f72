/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See observer.h. */
#define _GNU_SOURCE /* secure_getenv, gettid */
#include "observer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cancel.h"
#include "util/clock.h"
#include "util/keep-errno.h"
#include "util/lock.h"
#include "util/log.h"

#define RING_MIN 4096u
#define RING_MAX (1u << 28)
/* A command whose `beat` stands still for so long has ended. */
#define BEAT_NS (5 * NS_PER_S)

/* The command's memory.  It may change its fields at any time, so what is used
 * of them is copied. */
struct observer_place {
	struct usiw_observer_place *shared;
	struct usiw_record_ring *ring;
	void *data;
	uint32_t ring_size;
};

/* One for each kind. */
static struct observer {
	struct util_lock lock; /* of attaching; only tried */
	/* That of the last request that was tried, and 1. */
	_Atomic uint32_t serial;
	_Atomic(struct observer_place *) place; /* NULL: none */
	/* For commands that have ended. */
	_Atomic uint32_t beat;
	_Atomic uint64_t beat_ns;
	_Atomic uint32_t snap_len; /* of the place */
} observers[USIW_OBSERVE_CNT] = {
	{ .lock = UTIL_LOCK_INIT(UTIL_RANK_LEAF) },
	{ .lock = UTIL_LOCK_INIT(UTIL_RANK_LEAF) },
};

/* From the environment.  Read once: a forked child begins them anew. */
static char env_path[USIW_OBSERVE_CNT][64];

static struct usiw_observed *observed(void)
{
	return &rnic_stat_memory.page.observed;
}

/* Threads in a record: the place stays, and so does its memory. */
static _Atomic uint32_t *user_cnt(enum usiw_observe kind)
{
	return &observed()->request[kind].user_cnt;
}

static void unwant(enum usiw_observe kind)
{
	atomic_fetch_and_explicit(&observed()->wanted, ~(1u << kind),
				  memory_order_relaxed);
}

/* ---- attach ------------------------------------------------------------- */

/* Return: the number of a slot that is ours now; -ENOSPC: all are used. */
static int slot_take(struct usiw_observer_place *place, uint32_t cnt)
{
	uint32_t pid = (uint32_t)getpid(), none;

	for (uint32_t i = 0; i < cnt; i++) {
		none = 0;
		if (atomic_compare_exchange_strong_explicit(
			    &place->slot[i].pid, &none, pid,
			    memory_order_relaxed, memory_order_relaxed))
			return (int)i;
	}
	atomic_fetch_add_explicit(&place->refused_cnt, 1, memory_order_relaxed);
	return -ENOSPC;
}

static void *map(int fd, uint64_t at, size_t len)
{
	void *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			 (off_t)at);

	return mem == MAP_FAILED ? NULL : mem;
}

static bool place_is_right(const struct usiw_observer_place *shared,
			   enum usiw_observe kind, uint32_t size,
			   uint32_t slots)
{
	return shared->magic == USIW_OBSERVER_MAGIC &&
	       shared->version == USIW_OBSERVER_VERSION &&
	       shared->kind == kind && size >= RING_MIN && size <= RING_MAX &&
	       !(size & (size - 1)) && slots && slots <= USIW_OBSERVER_SLOTS;
}

/* Return: 0; -EPROTO: another usiw's, or nonsense; other -errno. */
static int slot_map(struct observer_place *place, enum usiw_observe kind,
		    int fd, uint64_t at, uint64_t file_size)
{
	struct usiw_observer_place *shared = place->shared;
	uint32_t size = shared->ring_size, slots = shared->slot_cnt;
	int num;

	at += USIW_OBSERVER_DATA_AT;
	if (!place_is_right(shared, kind, size, slots) ||
	    file_size < at + (uint64_t)slots * size)
		return -EPROTO;
	num = slot_take(shared, slots);
	if (num < 0)
		return num;
	place->ring = &shared->slot[num].ring;
	place->ring_size = size;
	place->data = map(fd, at + (uint64_t)num * size, size);
	return place->data ? 0 : -ENOMEM;
}

static int place_map(struct observer_place *place, enum usiw_observe kind,
		     int fd, uint64_t at)
{
	struct stat st;
	int ret;

	/* A shorter file would mean SIGBUS. */
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size < at + USIW_OBSERVER_DATA_AT)
		return -EPROTO;
	place->shared = map(fd, at, USIW_OBSERVER_DATA_AT);
	if (!place->shared)
		return -ENOMEM;
	ret = slot_map(place, kind, fd, at, (uint64_t)st.st_size);
	if (ret < 0)
		munmap(place->shared, USIW_OBSERVER_DATA_AT);
	return ret;
}

static int place_make(struct observer *obs, enum usiw_observe kind, int fd,
		      uint64_t at)
{
	struct observer_place *place = calloc(1, sizeof(*place));
	int ret = place ? place_map(place, kind, fd, at) : -ENOMEM;

	if (ret < 0) {
		free(place);
		return ret;
	}
	atomic_store_explicit(&obs->snap_len, place->shared->snap_len,
			      memory_order_relaxed);
	/* Of the command before. */
	atomic_store_explicit(&obs->beat_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&obs->place, place, memory_order_seq_cst);
	return 0;
}

/* If another thread is inside, the memory is never freed. */
static void place_drop(struct observer *obs, enum usiw_observe kind)
{
	struct observer_place *place = atomic_exchange_explicit(
		&obs->place, NULL, memory_order_seq_cst);

	if (!place ||
	    atomic_load_explicit(user_cnt(kind), memory_order_seq_cst) > 1)
		return;
	munmap(place->data, place->ring_size);
	munmap(place->shared, USIW_OBSERVER_DATA_AT);
	free(place);
}

static int attach_by_path(struct observer *obs, enum usiw_observe kind,
			  const char *path)
{
	int ret, fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return -errno;
	ret = place_make(obs, kind, fd, 0);
	util_sys_close(fd);
	return ret;
}

/* By a thread that is one of the users. */
static void attach(struct observer *obs, enum usiw_observe kind,
		   uint32_t serial)
{
	const char *path = env_path[kind];
	int ret;
	UTIL_CANCEL_OFF();
	UTIL_KEEP_ERRNO();

	place_drop(obs, kind);
	if (*path && serial == 0)
		ret = attach_by_path(obs, kind, path);
	else
		ret = place_make(obs, kind, rnic_stat_fd(),
				 USIW_OBSERVER_AT(kind));
	if (ret < 0) {
		util_warn("rnic", "observer: %s: %s",
			  kind == USIW_OBSERVE_CALLS ? "trace" : "capture",
			  ret == -EPROTO ? "the command is of another usiw"
					 : strerror(-ret));
		unwant(kind);
	}
	/* release: pairs with the acquire in attached(): all of it is set */
	atomic_store_explicit(&obs->serial, serial + 1, memory_order_release);
}

/* Return: false: nothing is attached, or another thread is attaching. */
static bool attached(struct observer *obs, enum usiw_observe kind)
{
	uint32_t serial = atomic_load_explicit(
		&observed()->request[kind].serial, memory_order_acquire);

	if (atomic_load_explicit(&obs->serial, memory_order_acquire) !=
	    serial + 1) {
		if (!util_trylock(&obs->lock))
			return false;
		if (atomic_load_explicit(&obs->serial, memory_order_relaxed) !=
		    serial + 1)
			attach(obs, kind, serial);
		util_unlock(&obs->lock);
	}
	return atomic_load_explicit(&obs->place, memory_order_relaxed);
}

static void leave(enum usiw_observe kind)
{
	/* release: the record precedes the next command */
	atomic_fetch_sub_explicit(user_cnt(kind), 1, memory_order_release);
}

/*
 * Makes the thread a user of the place, which leave() ends.  A command that
 * left, and the next one, find either the user, or that it finds their bit and
 * number: both sides write first and then read.
 * Return: false: nothing observes.
 */
static bool enter(struct observer *obs, enum usiw_observe kind)
{
	atomic_fetch_add_explicit(user_cnt(kind), 1, memory_order_seq_cst);
	if (atomic_load_explicit(&observed()->wanted, memory_order_seq_cst) &
		    1u << kind &&
	    attached(obs, kind))
		return true;
	leave(kind);
	return false;
}

const _Atomic uint32_t *rnic_observed_word(void)
{
	return &observed()->wanted;
}

/* ---- records ------------------------------------------------------------ */

/* No room: does the command live? */
static void beat_check(struct observer *obs, enum usiw_observe kind,
		       const struct observer_place *place)
{
	uint32_t beat = atomic_load_explicit(&place->shared->beat,
					     memory_order_relaxed);
	uint64_t now = util_now_ns();

	/* acquire: pairs with the release below: beat_ns is of this beat, and
	 * may be later than now, by another thread */
	if (atomic_load_explicit(&obs->beat, memory_order_acquire) != beat ||
	    !atomic_load_explicit(&obs->beat_ns, memory_order_relaxed)) {
		atomic_store_explicit(&obs->beat_ns, now, memory_order_relaxed);
		atomic_store_explicit(&obs->beat, beat, memory_order_release);
	} else if (now > BEAT_NS + atomic_load_explicit(&obs->beat_ns,
							memory_order_relaxed)) {
		unwant(kind);
	}
}

uint32_t rnic_observer_snap_len(enum usiw_observe kind)
{
	struct observer *obs = &observers[kind];
	uint32_t len = 0;

	if (enter(obs, kind)) {
		len = atomic_load_explicit(&obs->snap_len,
					   memory_order_relaxed);
		leave(kind);
	}
	return len;
}

/* Return: NULL: no room. */
static struct usiw_record *reserve(struct observer *obs, enum usiw_observe kind,
				   uint32_t len)
{
	/* relaxed: enter() has read what it points to */
	const struct observer_place *place =
		atomic_load_explicit(&obs->place, memory_order_relaxed);
	struct usiw_record *record = NULL;

	if (len <= place->ring_size / 2)
		record = usiw_record_begin(place->ring, place->data,
					   place->ring_size, len);
	if (!record)
		beat_check(obs, kind, place);
	return record;
}

bool rnic_observer_begin(enum usiw_observe kind, uint16_t record_kind,
			 uint32_t len, struct rnic_observer_record *ret_record)
{
	struct observer *obs = &observers[kind];
	struct usiw_record *record;

	if (!enter(obs, kind))
		return false;
	record = reserve(obs, kind, len);
	if (!record) {
		leave(kind);
		return false;
	}
	record->kind = record_kind;
	record->flags = 0;
	record->tid = (uint32_t)syscall(SYS_gettid);
	record->reserved = 0;
	record->ns = util_clock_ns(CLOCK_REALTIME);
	*ret_record = (struct rnic_observer_record){
		.record = record,
		.payload = record + 1,
		.len = len,
	};
	return true;
}

void rnic_observer_end(enum usiw_observe kind,
		       const struct rnic_observer_record *record)
{
	usiw_record_end(record->record, record->len);
	leave(kind);
}

/* ---- process ------------------------------------------------------------ */

/* KIND:PATH[,KIND:PATH], of usiw trace and usiw capture. */
static void env_read(const char *text)
{
	static const char *const names[] = {
		[USIW_OBSERVE_CALLS] = "calls:",
		[USIW_OBSERVE_PACKETS] = "packets:",
	};

	for (int i = 0; i < USIW_OBSERVE_CNT; i++) {
		const char *at = strstr(text, names[i]);

		if (!at)
			continue;
		at += strlen(names[i]);
		snprintf(env_path[i], sizeof(env_path[i]), "%.*s",
			 (int)strcspn(at, ","), at);
	}
}

/* It is attached first, so that no call of another thread is missed. */
static void env_want(enum usiw_observe kind)
{
	const char *digits =
		env_path[kind] + strcspn(env_path[kind], "0123456789");
	_Atomic uint32_t *owner = &observed()->request[kind].owner;

	/* Another command finds the process taken. */
	atomic_store_explicit(owner, (uint32_t)strtoul(digits, NULL, 10),
			      memory_order_relaxed);
	atomic_fetch_add_explicit(user_cnt(kind), 1, memory_order_seq_cst);
	if (attached(&observers[kind], kind))
		atomic_fetch_or_explicit(&observed()->wanted, 1u << kind,
					 memory_order_release);
	else
		atomic_store_explicit(owner, 0, memory_order_relaxed);
	leave(kind);
}

void rnic_observer_start(void)
{
	const char *text;

	if (!rnic_stat_init())
		return;
	text = secure_getenv("USIW_OBSERVE");
	if (!text)
		return;
	env_read(text);
	for (int i = 0; i < USIW_OBSERVE_CNT; i++)
		if (*env_path[i])
			env_want((enum usiw_observe)i);
}

void rnic_observer_fork_child(void)
{
	for (int i = 0; i < USIW_OBSERVE_CNT; i++) {
		struct observer *obs = &observers[i];

		/* A thread of the parent may be inside: the memory stays.  The
		 * number of users is in the page, which is new. */
		atomic_store_explicit(&obs->place, NULL, memory_order_relaxed);
		atomic_store_explicit(&obs->serial, 0, memory_order_relaxed);
		util_lock_init(&obs->lock, UTIL_RANK_LEAF);
	}
}
