/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See interface.h. */
#define _GNU_SOURCE
#include "interface.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "abi/usiw-abi.h"
#include "util/log.h"

/* USIW_INTERFACE of the library that is preloaded.  Old builds do not have
 * it. */
extern const char usiw_interface[] __attribute__((weak));

static const char own_interface[] = USIW_INTERFACE;

static const char *file_of(const void *addr)
{
	Dl_info info;

	if (addr && dladdr(addr, &info) && info.dli_fname)
		return info.dli_fname;
	return "the library that shows the devices";
}

bool usiw_interface_fits(uint32_t abi_version)
{
	static atomic_bool is_told;
	const char *shown = abi_version == USIW_UVERBS_ABI ? usiw_interface
							   : NULL;

	if (shown && strcmp(shown, own_interface) == 0)
		return true;
	if (!atomic_exchange_explicit(&is_told, true, memory_order_relaxed))
		util_err("verbs",
			 "the provider %s and %s are of two builds of usiw: "
			 "this provider takes no device: start the program by "
			 "the usiw run of one of them, or remove the other",
			 file_of(own_interface), file_of(shown));
	return false;
}
