/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See direct.h. */
#define _GNU_SOURCE
#include "direct.h"

#include <dlfcn.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/*
 * From the directory of this library, else from where the dynamic linker
 * looks.  A name alone does not do: the search path is that of who calls
 * dlopen(), and a program may have a dlopen() of its own in front of libc's.
 */
static void *open_beside(const char *name)
{
	char path[PATH_MAX];
	const char *slash;
	void *lib = NULL;
	Dl_info info;
	int len;

	if (dladdr((void *)(uintptr_t)open_beside, &info) && info.dli_fname &&
	    (slash = strrchr(info.dli_fname, '/')) != NULL) {
		len = snprintf(path, sizeof(path), "%.*s/%s",
			       (int)(slash - info.dli_fname), info.dli_fname,
			       name);
		if (len > 0 && (size_t)len < sizeof(path))
			lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	return lib ? lib : dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

void *sdp_direct_symbol(const char *name)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);
	void *lib;

	if (symbol)
		return symbol;
	lib = open_beside("libusiw.so.0");
	return lib ? dlsym(lib, name) : NULL;
}
