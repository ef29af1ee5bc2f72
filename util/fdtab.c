/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The objects behind file descriptors: two levels, with pages made as
 * needed. */
#include "fdtab.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "lock.h"

#define FDTAB_PAGE_BITS 10
#define FDTAB_PAGE_SIZE (1u << FDTAB_PAGE_BITS)
#define FDTAB_PAGE_CNT (UTIL_FD_MAX / FDTAB_PAGE_SIZE)

/* struct util_fd.word: the kind, the pins, and how often it has changed. */
#define FDTAB_KIND_MASK 0xffull
#define FDTAB_PIN 0x100ull
#define FDTAB_PIN_MASK 0xffffff00ull
#define FDTAB_TURN (1ull << 32)
#define FDTAB_TURN_MASK (~(FDTAB_TURN - 1))

struct fdtab_page {
	struct util_fd fd[FDTAB_PAGE_SIZE];
};

struct util_fdtab {
	struct util_lock lock; /* files and their numbers */
	_Atomic(struct fdtab_page *) page[FDTAB_PAGE_CNT];
};

struct util_fdtab *util_fdtab_new(void)
{
	struct util_fdtab *tab = calloc(1, sizeof(*tab));

	if (tab)
		util_lock_init(&tab->lock, UTIL_RANK_LEAF);
	return tab;
}

/* NULL: out of range, or nothing near this fd was ever added. */
static struct util_fd *fdtab_slot(const struct util_fdtab *tab, int fd)
{
	uint32_t num = (uint32_t)fd; /* a negative fd becomes a huge one */
	struct fdtab_page *page;

	if (num >= UTIL_FD_MAX)
		return NULL;
	/* acquire: pairs with the release in fdtab_slot_make() */
	page = atomic_load_explicit(&tab->page[num >> FDTAB_PAGE_BITS],
				    memory_order_acquire);
	return page ? &page->fd[num % FDTAB_PAGE_SIZE] : NULL;
}

/* NULL: ENOMEM.  @fd is in range. */
static struct util_fd *fdtab_slot_make(struct util_fdtab *tab, int fd)
{
	_Atomic(struct fdtab_page *) *where;
	struct fdtab_page *expected = NULL;
	struct fdtab_page *page;

	where = &tab->page[(uint32_t)fd >> FDTAB_PAGE_BITS];
	page = calloc(1, sizeof(*page));
	if (!page)
		return NULL;
	/* release: publishes the zeroes; pairs with fdtab_slot() */
	if (!atomic_compare_exchange_strong_explicit(where, &expected, page,
						     memory_order_acq_rel,
						     memory_order_acquire)) {
		free(page);
		page = expected;
	}
	return &page->fd[(uint32_t)fd % FDTAB_PAGE_SIZE];
}

/*
 * From now on the slot has no kind, and those that have pinned its file hold
 * references of the file.  These are counted before: one of them may be dropped
 * at once.
 * Return: the kind that it had.
 */
static unsigned int slot_clear(struct util_fd *slot)
{
	struct util_file *file =
		atomic_load_explicit(&slot->object, memory_order_relaxed);
	uint64_t word = atomic_load_explicit(&slot->word, memory_order_relaxed);
	uint32_t pin_cnt, given_cnt = 0;

	do {
		pin_cnt = (uint32_t)((word & FDTAB_PIN_MASK) / FDTAB_PIN);
		if (pin_cnt != given_cnt)
			atomic_fetch_add_explicit(&file->ref_cnt,
						  pin_cnt - given_cnt,
						  memory_order_relaxed);
		given_cnt = pin_cnt;
	} while (!atomic_compare_exchange_weak_explicit(
		&slot->word, &word, (word & FDTAB_TURN_MASK) + FDTAB_TURN,
		memory_order_acq_rel, memory_order_relaxed));
	return word & FDTAB_KIND_MASK;
}

int util_fdtab_add(struct util_fdtab *tab, int fd, unsigned int kind,
		   void *object)
{
	struct util_fd *slot;
	uint64_t word;

	if (fd < 0 || (uint32_t)fd >= UTIL_FD_MAX)
		return -EMFILE;
	slot = fdtab_slot(tab, fd);
	if (!slot)
		slot = fdtab_slot_make(tab, fd);
	if (!slot)
		return -ENOMEM;
	/* A stale entry is cleared first, so that a reader never combines its
	 * kind with the new object; release pairs with util_fdtab_lookup(). */
	(void)slot_clear(slot);
	word = atomic_load_explicit(&slot->word, memory_order_relaxed);
	atomic_store_explicit(&slot->object, object, memory_order_release);
	atomic_store_explicit(&slot->word, word | kind, memory_order_release);
	return 0;
}

unsigned int util_fdtab_remove(struct util_fdtab *tab, int fd)
{
	struct util_fd *slot = fdtab_slot(tab, fd);
	unsigned int kind;

	if (!slot)
		return UTIL_FD_NONE;
	kind = slot_clear(slot);
	if (kind != UTIL_FD_NONE)
		/* release: a reader that sees NULL sees UTIL_FD_NONE, too */
		atomic_store_explicit(&slot->object, NULL,
				      memory_order_release);
	return kind;
}

unsigned int util_fdtab_lookup(const struct util_fdtab *tab, int fd,
			       void **ret_object)
{
	struct util_fd *slot = fdtab_slot(tab, fd);
	uint64_t word, again;
	void *object;

	if (!slot)
		return UTIL_FD_NONE;
	/* acquire: pairs with the releases in add and remove */
	word = atomic_load_explicit(&slot->word, memory_order_acquire);
	while ((word & FDTAB_KIND_MASK) != UTIL_FD_NONE) {
		object = atomic_load_explicit(&slot->object,
					      memory_order_acquire);
		/* If the word is unchanged, @object has that kind. */
		again = atomic_load_explicit(&slot->word, memory_order_acquire);
		if (((again ^ word) & ~FDTAB_PIN_MASK) == 0) {
			if (ret_object)
				*ret_object = object;
			break;
		}
		word = again;
	}
	return word & FDTAB_KIND_MASK;
}

/* ---- files ------------------------------------------------------------- */

void util_file_init(struct util_file *file,
		    void (*close)(struct util_file *file),
		    void (*free)(struct util_file *file))
{
	file->close = close;
	file->free = free;
	atomic_init(&file->ref_cnt, 1);
	file->fd_cnt = 0;
}

void util_file_get(struct util_file *file)
{
	/* relaxed: the caller has a reference, or the table's lock */
	atomic_fetch_add_explicit(&file->ref_cnt, 1, memory_order_relaxed);
}

void util_file_put(struct util_file *file)
{
	/* acq_rel: the last access of every other holder precedes free() */
	if (atomic_fetch_sub_explicit(&file->ref_cnt, 1,
				      memory_order_acq_rel) == 1)
		file->free(file);
}

static bool kind_has_file(unsigned int kind)
{
	return kind & UTIL_FD_FILE;
}

int util_fdtab_install(struct util_fdtab *tab, int fd, unsigned int kind,
		       struct util_file *file)
{
	UTIL_LOCKED(&tab->lock);
	int ret = util_fdtab_add(tab, fd, kind, file);

	if (ret == 0) {
		util_file_get(file);
		file->fd_cnt++;
	}
	return ret;
}

unsigned int util_fdtab_uninstall(struct util_fdtab *tab, int fd,
				  const struct util_file *file)
{
	struct util_file *gone = NULL;
	unsigned int kind;
	void *object = NULL;
	bool is_last = false;

	util_lock(&tab->lock);
	kind = util_fdtab_lookup(tab, fd, &object);
	if (file && (!kind_has_file(kind) || object != file))
		kind = UTIL_FD_NONE;
	if (kind != UTIL_FD_NONE)
		util_fdtab_remove(tab, fd);
	if (kind_has_file(kind)) {
		gone = object;
		is_last = --gone->fd_cnt == 0;
	}
	util_unlock(&tab->lock);
	if (is_last)
		gone->close(gone);
	if (gone)
		util_file_put(gone);
	return kind;
}

bool util_fdtab_pin(const struct util_fdtab *tab, int fd, unsigned int kind,
		    struct util_fd_pin *ret_pin)
{
	struct util_fd *slot = fdtab_slot(tab, fd);
	uint64_t word;

	if (!slot)
		return false;
	/* acquire: pairs with the releases in add and remove */
	word = atomic_load_explicit(&slot->word, memory_order_acquire);
	do {
		if ((word & FDTAB_KIND_MASK) != kind)
			return false;
		/* If the word has not changed but for pins, the object has
		 * not. */
		ret_pin->file = atomic_load_explicit(&slot->object,
						     memory_order_acquire);
	} while (!atomic_compare_exchange_weak_explicit(
		&slot->word, &word, word + FDTAB_PIN, memory_order_acquire,
		memory_order_acquire));
	ret_pin->slot = slot;
	ret_pin->turn = word & FDTAB_TURN_MASK;
	return true;
}

void util_fdtab_unpin(const struct util_fd_pin *pin)
{
	uint64_t word =
		atomic_load_explicit(&pin->slot->word, memory_order_relaxed);

	do {
		if ((word & FDTAB_TURN_MASK) != pin->turn) {
			util_file_put(pin->file);
			return;
		}
		/* release: as util_file_put() */
	} while (!atomic_compare_exchange_weak_explicit(
		&pin->slot->word, &word, word - FDTAB_PIN, memory_order_release,
		memory_order_relaxed));
}

struct util_file *util_fdtab_get(struct util_fdtab *tab, int fd,
				 unsigned int kind)
{
	struct util_fd_pin pin;

	if (!util_fdtab_pin(tab, fd, kind, &pin))
		return NULL;
	util_file_get(pin.file);
	util_fdtab_unpin(&pin);
	return pin.file;
}

int util_fdtab_find(const struct util_fdtab *tab, int fd,
		    const struct util_file *file)
{
	uint32_t num = (uint32_t)fd;
	void *object = NULL;

	while (num < UTIL_FD_MAX) {
		/* acquire: pairs with the release in fdtab_slot_make() */
		if (!atomic_load_explicit(&tab->page[num >> FDTAB_PAGE_BITS],
					  memory_order_acquire)) {
			num = (num | (FDTAB_PAGE_SIZE - 1)) + 1;
			continue;
		}
		if (kind_has_file(util_fdtab_lookup(tab, (int)num, &object)) &&
		    object == file)
			return (int)num;
		num++;
	}
	return -1;
}

void util_fdtab_fork_child(struct util_fdtab *tab)
{
	util_lock_init(&tab->lock, UTIL_RANK_LEAF);
}

void util_fdtab_each(struct util_fdtab *tab,
		     void (*fn)(struct util_fdtab *tab, int fd,
				unsigned int kind, void *object))
{
	unsigned int kind;
	void *object = NULL;

	for (uint32_t p = 0; p < FDTAB_PAGE_CNT; p++) {
		if (!atomic_load_explicit(&tab->page[p], memory_order_acquire))
			continue;
		for (uint32_t i = 0; i < FDTAB_PAGE_SIZE; i++) {
			int fd = (int)(p * FDTAB_PAGE_SIZE + i);

			kind = util_fdtab_lookup(tab, fd, &object);
			if (kind != UTIL_FD_NONE)
				fn(tab, fd, kind, object);
		}
	}
}
