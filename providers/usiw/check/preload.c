/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * libusiw-check.so: free(), munmap() and the like of a program that usiw check
 * runs.  Each asks the provider whether the memory is in use, and then calls
 * the next function of its name: libc's, that of another allocator, or that of
 * a sanitizer.  While nothing is posted it costs one load.  Links libc only.
 */
#define _GNU_SOURCE
#include "preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PUBLIC __attribute__((visibility("default")))
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

/* Static TLS (CMakeLists.txt): its first use does not allocate. */
static _Thread_local volatile int inside_cnt;

static volatile int *inside(void)
{
	return &inside_cnt;
}

extern struct usiw_check_preload usiw_check_preload;
PUBLIC struct usiw_check_preload usiw_check_preload = { .inside = inside };

/* ---- the functions behind ---------------------------------------------- */

static void *_Atomic next_free, *_Atomic next_realloc, *_Atomic next_munmap,
	*_Atomic next_mremap, *_Atomic next_madvise;
/* malloc_usable_size() of the library that has the next free().  NULL: that has
 * none. */
static size_t (*block_len)(void *);

static void *next_find(void *_Atomic *slot, const char *name)
{
	void *next = atomic_load_explicit(slot, memory_order_relaxed);

	/* dlsym() of an old glibc calls free(), which then finds nothing. */
	if (next || inside_cnt)
		return next;
	inside_cnt++;
	next = dlsym(RTLD_NEXT, name);
	inside_cnt--;
	atomic_store_explicit(slot, next, memory_order_relaxed);
	return next;
}

static __attribute__((constructor)) void init(void)
{
	void *len = dlsym(RTLD_NEXT, "malloc_usable_size");
	Dl_info of_free, of_len;

	if (dladdr(next_find(&next_free, "free"), &of_free) &&
	    dladdr(len, &of_len) && of_free.dli_fbase == of_len.dli_fbase)
		block_len = (size_t (*)(void *))len;
	(void)next_find(&next_realloc, "realloc");
	(void)next_find(&next_munmap, "munmap");
	(void)next_find(&next_mremap, "mremap");
	(void)next_find(&next_madvise, "madvise");
}

/* ---- what is told ------------------------------------------------------ */

/* NULL: nobody asks. */
static inline usiw_check_taken_fn *asked(void)
{
	usiw_check_taken_fn *taken = atomic_load_explicit(
		&usiw_check_preload.taken, memory_order_relaxed);

	return taken && !inside_cnt ? taken : NULL;
}

static void tell(usiw_check_taken_fn *taken, enum usiw_check_call call,
		 const void *addr, size_t len)
{
	if (!len)
		return;
	inside_cnt++;
	taken(call, (uintptr_t)addr, len);
	inside_cnt--;
}

/* The first octet of a block is always its own. */
static void tell_block(enum usiw_check_call call, void *ptr)
{
	usiw_check_taken_fn *taken = asked();

	if (taken && ptr)
		tell(taken, call, ptr, block_len ? block_len(ptr) : 1);
}

static size_t pages(size_t len)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (len + page - 1) & ~(page - 1);
}

/* The kernel takes whole pages. */
static void tell_pages(enum usiw_check_call call, const void *addr, size_t len)
{
	usiw_check_taken_fn *taken = asked();

	if (taken)
		tell(taken, call, addr, pages(len));
}

/* ---- the calls --------------------------------------------------------- */

PUBLIC void free(void *ptr)
{
	void (*next)(void *) = next_find(&next_free, "free");

	tell_block(USIW_CHECK_FREE, ptr);
	if (next)
		next(ptr);
}

/* It may move the block, whether it does or not. */
PUBLIC void *realloc(void *ptr, size_t size)
{
	void *(*next)(void *, size_t) = next_find(&next_realloc, "realloc");

	tell_block(USIW_CHECK_REALLOC, ptr);
	if (next)
		return next(ptr, size);
	errno = ENOMEM;
	return NULL;
}

/*
 * An allocator calls these while it holds its lock, perhaps before init(),
 * when dlsym() might call it.
 */
PUBLIC int munmap(void *addr, size_t len)
{
	int (*next)(void *, size_t) =
		atomic_load_explicit(&next_munmap, memory_order_relaxed);

	tell_pages(USIW_CHECK_MUNMAP, addr, len);
	return next ? next(addr, len) : (int)syscall(SYS_munmap, addr, len);
}

/* What is left of the mapping keeps its place, unless it may move. */
static void tell_mremap(const char *addr, size_t old_len, size_t new_len,
			int flags, const void *to)
{
	size_t kept = pages(new_len);

	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP) ||
	    (flags & MREMAP_MAYMOVE && kept > old_len))
		tell_pages(USIW_CHECK_MREMAP, addr, old_len);
	else if (kept < old_len)
		tell_pages(USIW_CHECK_MREMAP, addr + kept, old_len - kept);
	if (flags & MREMAP_FIXED)
		tell_pages(USIW_CHECK_MREMAP, to, new_len);
}

PUBLIC void *mremap(void *addr, size_t old_len, size_t new_len, int flags, ...)
{
	void *(*next)(void *, size_t, size_t, int, ...) =
		atomic_load_explicit(&next_mremap, memory_order_relaxed);
	void *to = NULL;
	va_list args;

	va_start(args, flags);
	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP))
		to = va_arg(args, void *);
	va_end(args);
	if (asked())
		tell_mremap(addr, old_len, new_len, flags, to);
	if (next)
		return next(addr, old_len, new_len, flags, to);
	return (void *)syscall(SYS_mremap, addr, old_len, new_len, flags, to);
}

PUBLIC int madvise(void *addr, size_t len, int advice)
{
	int (*next)(void *, size_t, int) =
		atomic_load_explicit(&next_madvise, memory_order_relaxed);

	if (advice == MADV_DONTNEED || advice == MADV_DONTNEED_LOCKED ||
	    advice == MADV_FREE || advice == MADV_REMOVE)
		tell_pages(USIW_CHECK_MADVISE, addr, len);
	return next ? next(addr, len, advice)
		    : (int)syscall(SYS_madvise, addr, len, advice);
}
