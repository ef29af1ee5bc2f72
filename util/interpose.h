/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What every preload library needs: the real libc functions behind its stubs,
 * and a way to leave errno and fork() alone.
 *
 * A table of the interposed names, by an X-macro of the library's own:
 *
 *	#define MY_REALS(X) \
 *		X(int, open, (const char *path, int flags, ...)) \
 *		X(int, close, (int fd))
 *	struct my_reals { MY_REALS(UTIL_REAL_FIELD) };
 *	static const struct util_real my_real_names[] = {
 *		MY_REALS(UTIL_REAL_ROW)
 *	};
 *
 * Constructors of other libraries may run before the preload library's own:
 * a stub therefore asks util_reals_get(), which fills the table at its first
 * call and costs one load afterwards.
 */
#ifndef UTIL_INTERPOSE_H
#define UTIL_INTERPOSE_H

#include <stdatomic.h>
#include <stddef.h>

struct util_real {
	const char *name;
	size_t offset; /* of the pointer in the library's struct */
};

#define UTIL_REAL_FIELD(type, name, params) type(*name) params;
#define UTIL_REAL_ROW(strukt, name) { #name, offsetof(strukt, name) },

struct util_reals {
	_Atomic int is_ready;
	void *base; /* the library's struct of pointers */
	const struct util_real *row;
	size_t row_cnt;
};

/*
 * Fill the table from the objects behind this one.  A name that libc does not
 * have stays NULL.  No system call; the dynamic linker's lock is taken, so
 * that it belongs into the constructor, before signals and vfork come.
 */
void util_reals_fill(struct util_reals *reals);

/* Cheap after the first time. */
static inline void *util_reals_get(struct util_reals *reals)
{
	/* acquire: pairs with the release in util_reals_fill() */
	if (!atomic_load_explicit(&reals->is_ready, memory_order_acquire))
		util_reals_fill(reals);
	return reals->base;
}

/*
 * The door of a stub: 0 or a count as it is; a negative errno becomes -1 and
 * errno.
 */
long util_door(long ret);

/* Directory that holds the object file of @addr, without trailing slash.
 * Return: 0; -ENAMETOOLONG; -ENOENT: no such object. */
int util_object_dir(const void *addr, char *ret_dir, size_t size);

#endif
