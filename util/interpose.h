/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What every preload library needs: the real libc functions behind its stubs,
 * and the way back to errno.
 *
 * The library lists the names it interposes once, and makes from the list a
 * struct of typed pointers and a table of names in the same order:
 *
 *	#define MY_REALS(X) X(open) X(close)
 *	struct my_reals { MY_REALS(UTIL_REAL_FIELD) };
 *	static const char *const my_names[] = { MY_REALS(UTIL_REAL_NAME) };
 */
#ifndef UTIL_INTERPOSE_H
#define UTIL_INTERPOSE_H

#include <stdatomic.h>
#include <stddef.h>

#define UTIL_REAL_FIELD(name) __typeof__(&name) name;
#define UTIL_REAL_NAME(name) #name,

struct util_reals {
	_Atomic int is_ready;
	void *pointers; /* the library's struct: nothing but pointers */
	const char *const *names;
	size_t cnt;
};

/*
 * Fill the struct from the objects behind the calling one; a name that libc
 * does not have stays NULL.  No system call.  It takes the dynamic linker's
 * lock: call it from the constructor, before signals and vfork come.
 */
void util_reals_fill(struct util_reals *reals);

/*
 * The struct, filled.  One load, but for constructors of other libraries that
 * run before the preload library's own.
 */
static inline const void *util_reals_get(struct util_reals *reals)
{
	/* acquire: pairs with the release in util_reals_fill() */
	if (!atomic_load_explicit(&reals->is_ready, memory_order_acquire))
		util_reals_fill(reals);
	return reals->pointers;
}

/* The door of a stub: counts pass, a negative errno becomes -1 and errno. */
long util_door(long ret);

/*
 * Directory of the object file that holds @addr, without trailing slash.
 * Return: 0; -ENOENT: no such object, or no directory in its name;
 *   -ENAMETOOLONG.
 */
int util_object_dir(const void *addr, char *ret_dir, size_t size);

#endif
