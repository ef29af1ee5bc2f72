/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * For preload libraries: the real libc functions behind their stubs, and the
 * conversion of results to errno.
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

#include <errno.h>
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
 * Fills the struct from the objects that follow the calling one.  A name that
 * libc does not have stays NULL.  The function makes no system call.  It takes
 * the dynamic linker's lock, so call it from the constructor, before signal
 * handlers and vfork() can run.
 */
void util_reals_fill(struct util_reals *reals);

/*
 * Returns the filled struct.  It costs one load, except in constructors of
 * other libraries that run before the preload library's own.
 */
static inline const void *util_reals_get(struct util_reals *reals)
{
	/* acquire: pairs with the release in util_reals_fill() */
	if (!atomic_load_explicit(&reals->is_ready, memory_order_acquire))
		util_reals_fill(reals);
	return reals->pointers;
}

/*
 * The result of a stub: a count is returned as it is, a negative errno as -1
 * and errno.  A call that succeeds leaves errno as it was, as a system call
 * does: a program may read errno after a second call that cleaned up, and
 * librdmacm does (rdma_create_ep() destroys the identifier that failed).
 * @saved_errno: errno from before the stub's work.
 */
long util_result(long ret, int saved_errno);

/* The same around @call, the stub's work. */
#define UTIL_RESULT(call)                                                      \
	__extension__({                                                        \
		const int util_saved_errno = errno;                            \
		util_result(call, util_saved_errno);                           \
	})

/*
 * Directory of the object file that holds @addr, without trailing slash.
 * Return: 0; -ENOENT: no such object, or no directory in its name;
 *   -ENAMETOOLONG.
 */
int util_object_dir(const void *addr, char *ret_dir, size_t size);

/*
 * The module @name, a path or a soname, if the process has loaded it.  The
 * module stays loaded from then on; the handle needs no dlclose().
 * Return: a handle for dlsym(); NULL: it is not loaded.
 */
void *util_loaded_module(const char *name);

#endif
