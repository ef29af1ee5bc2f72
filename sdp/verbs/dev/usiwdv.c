/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See usiwdv.h. */
#define _GNU_SOURCE
#include "usiwdv.h"

#include <dlfcn.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define USIWDV_NAME "libusiw.so.0"

/* Relative to this library: in a build tree, and installed. */
static const char *const places[] = { USIWDV_NAME, "../" USIWDV_NAME };

/* @place: relative to the directory of @self. */
static void *open_at(const char *self, const char *place)
{
	const char *slash = strrchr(self, '/');
	char path[PATH_MAX];
	int len;

	if (!slash)
		return NULL;
	len = snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - self), self,
		       place);
	if (len <= 0 || (size_t)len >= sizeof(path))
		return NULL;
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/*
 * Opens the library relative to this one, else by the dynamic linker's search.
 * The name alone is not enough. The linker uses the search path of the caller
 * of dlopen(), and a program may interpose its own dlopen().
 */
static void *usiwdv_open(void)
{
	void *lib = NULL;
	Dl_info info;

	if (dladdr((void *)(uintptr_t)usiwdv_open, &info) && info.dli_fname)
		for (size_t i = 0;
		     !lib && i < sizeof(places) / sizeof(places[0]); i++)
			lib = open_at(info.dli_fname, places[i]);
	return lib ? lib : dlopen(USIWDV_NAME, RTLD_NOW | RTLD_LOCAL);
}

void *sdp_usiwdv_symbol(const char *name)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);
	void *lib;

	if (symbol)
		return symbol;
	lib = usiwdv_open();
	return lib ? dlsym(lib, name) : NULL;
}
