/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See direct.h. */
#include "direct.h"

#include <dlfcn.h>
#include <stddef.h>

void *sdp_direct_symbol(const char *name)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);
	void *lib;

	if (symbol)
		return symbol;
	lib = dlopen("libusiw.so.0", RTLD_NOW | RTLD_LOCAL);
	return lib ? dlsym(lib, name) : NULL;
}
