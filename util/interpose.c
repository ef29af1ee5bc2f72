/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The real libc functions behind the stubs of a preload library. */
#define _GNU_SOURCE /* RTLD_NEXT, dladdr */
#include "interpose.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "keep-errno.h"

/* Old stat entry points have lost their default version in newer glibcs. */
static const char *const old_versions[] = {
	"GLIBC_2.2.5",
	"GLIBC_2.4",
	"GLIBC_2.17",
	"GLIBC_2.27",
};

static void *real_find(const char *name)
{
	void *sym = dlsym(RTLD_NEXT, name);

	for (size_t i = 0;
	     !sym && i < sizeof(old_versions) / sizeof(old_versions[0]); i++)
		sym = dlvsym(RTLD_NEXT, name, old_versions[i]);
	return sym;
}

void util_reals_fill(struct util_reals *reals)
{
	UTIL_KEEP_ERRNO();
	char *slot = reals->pointers;

	/* Constructors run in one thread.  If two threads came here, they would
	 * store the same pointers. */
	for (size_t i = 0; i < reals->cnt; i++) {
		void *sym = real_find(reals->names[i]);

		memcpy(slot + i * sizeof(sym), &sym, sizeof(sym));
	}
	/* release: pairs with util_reals_get() */
	atomic_store_explicit(&reals->is_ready, 1, memory_order_release);
}

long util_result(long ret, int saved_errno)
{
	errno = ret < 0 ? (int)-ret : saved_errno;
	return ret < 0 ? -1 : ret;
}

int util_object_dir(const void *addr, char *ret_dir, size_t size)
{
	const char *slash;
	Dl_info info;
	size_t len;

	if (!dladdr(addr, &info) || !info.dli_fname)
		return -ENOENT;
	slash = strrchr(info.dli_fname, '/');
	if (!slash)
		return -ENOENT;
	len = (size_t)(slash - info.dli_fname);
	if (len >= size)
		return -ENAMETOOLONG;
	memcpy(ret_dir, info.dli_fname, len);
	ret_dir[len] = '\0';
	return 0;
}

/*
 * exit() lowers glibc's counts of opens without the lock of dlopen() and
 * dlclose().  A dlclose() in another thread can lose one of these steps: it is
 * then the last one, and would unmap code that threads still run.
 */
void *util_loaded_module(const char *name)
{
	void *module = dlopen(name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);

	if (module)
		dlclose(module);
	return module;
}
