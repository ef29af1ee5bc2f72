/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See provider.h. */
#include "base/provider.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/interpose.h"
#include "util/log.h"
#include "base/rnic-dl.h"

#define LIBRARY "libibverbs.so.1"
#define PROVIDER "libusiw-rdmav"
/* More providers of usiw than this are not looked at. */
#define PROVIDERS_MAX 8
/* The RNIC library of builds whose provider does not compare usiw_interface. */
#define RNIC_UNCOMPARED "libusiw-rnic.so"
/* The file in which libibverbs finds the provider's name. */
#define DRIVER_FILE "/etc/libibverbs.d/usiw.driver"
/* Limit of the search for the number of a provider ABI. */
#define NUMBER_MAX 255

/* Relative to this library: in a build tree, and installed. */
static const char *const places[] = { "/libusiw", "/../libibverbs/libusiw" };

static bool file_is_there(const char *prefix, size_t len, unsigned number)
{
	char path[PATH_MAX];
	int ret = snprintf(path, sizeof(path), "%.*s-rdmav%u.so", (int)len,
			   prefix, number);

	return ret > 0 && (size_t)ret < sizeof(path) && access(path, R_OK) == 0;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* An item of a list in the syntax of libibverbs: a path without its end, or the
 * name of a provider that libibverbs looks for itself. */
static bool item_is_ours(const char *item, size_t len, unsigned number)
{
	char text[PATH_MAX];

	if (len == 0 || len >= sizeof(text))
		return false;
	memcpy(text, item, len);
	text[len] = '\0';
	if (text[0] != '/')
		return strcmp(text, "usiw") == 0;
	return strncmp(file_name(text), "libusiw", sizeof("libusiw") - 1) ==
		       0 &&
	       file_is_there(text, len, number);
}

/* True if the list in the variable @name has a provider of usiw. */
static bool variable_has(const char *name, unsigned number)
{
	const char *list = getenv(name);
	size_t len;

	for (; list && *list; list += len + (list[len] != '\0')) {
		len = strcspn(list, ":;");
		if (item_is_ours(list, len, number))
			return true;
	}
	return false;
}

/* @ret_prefix: the value for RDMAV_DRIVERS. */
static bool place_has(const char *dir, unsigned number,
		      char ret_prefix[PATH_MAX])
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int len =
			snprintf(ret_prefix, PATH_MAX, "%s%s", dir, places[i]);

		if (len > 0 && len < PATH_MAX &&
		    file_is_there(ret_prefix, (size_t)len, number))
			return true;
	}
	return false;
}

/* The number in the name of its function.  Return: 0: not found. */
static unsigned library_number(void *lib)
{
	char name[sizeof("verbs_register_driver_4294967295")];
	char version[sizeof("IBVERBS_PRIVATE_4294967295")];

	for (unsigned number = 1; number <= NUMBER_MAX; number++) {
		snprintf(name, sizeof(name), "verbs_register_driver_%u",
			 number);
		snprintf(version, sizeof(version), "IBVERBS_PRIVATE_%u",
			 number);
		if (dlvsym(lib, name, version))
			return number;
	}
	return 0;
}

static bool has_any(const char *dir)
{
	char prefix[PATH_MAX];

	for (unsigned number = 1; number <= NUMBER_MAX; number++)
		if (place_has(dir, number, prefix))
			return true;
	return false;
}

/* Checks that libibverbs knows the file, which exists. */
static void naming_check(const char *prefix)
{
	const char *name = "RDMAV_DRIVERS";

	if (access(DRIVER_FILE, R_OK) == 0)
		return;
	if (!getenv(name) && getenv("IBV_DRIVERS"))
		name = "IBV_DRIVERS";
	if (getenv(name))
		util_err("kabi",
			 "no device: %s=%s names no provider of usiw: set "
			 "RDMAV_DRIVERS=%s, or start the program by usiw run "
			 "without that variable",
			 name, getenv(name), prefix);
	else
		util_err("kabi",
			 "no device: nothing names the provider to libibverbs: "
			 "set RDMAV_DRIVERS=%s, or start the program by "
			 "usiw run",
			 prefix);
}

void kabi_provider_check(void)
{
	void *lib = util_loaded_module(LIBRARY);
	char dir[PATH_MAX], prefix[PATH_MAX];
	unsigned number;

	if (!lib)
		return;
	number = library_number(lib);
	if (variable_has("RDMAV_DRIVERS", number) ||
	    variable_has("IBV_DRIVERS", number) ||
	    util_object_dir((const void *)(uintptr_t)kabi_provider_check, dir,
			    sizeof(dir)) < 0)
		return;
	if (place_has(dir, number, prefix))
		naming_check(prefix);
	else if (has_any(dir))
		util_err(
			"kabi",
			"no device: this libibverbs asks for providers of ABI "
			"%u, and usiw has none of that number: install a newer "
			"usiw, or the rdma-core of the distribution",
			number);
	else
		util_err("kabi",
			 "no device: the provider of usiw, libusiw-rdmav%u.so, "
			 "is not installed beside %s: install usiw again "
			 "(Debian: ibverbs-provider-usiw)",
			 number, dir);
}

/* ---- what the process has loaded ----------------------------------------- */

struct objects {
	const char *prefix; /* of the file names */
	size_t max, cnt;
	const char *paths[PROVIDERS_MAX]; /* the dynamic linker's */
};

/* For dl_iterate_phdr(), which goes by the order of loading. */
static int object_note(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *path = info->dlpi_name ? info->dlpi_name : "";
	struct objects *found = arg;

	(void)size;
	if (strncmp(file_name(path), found->prefix, strlen(found->prefix)) == 0)
		found->paths[found->cnt++] = path;
	return found->cnt == found->max;
}

void kabi_provider_check_libraries(void)
{
	static atomic_bool is_told;
	struct objects found = { .prefix = LIBRARY, .max = 2 };

	if (atomic_load_explicit(&is_told, memory_order_relaxed))
		return;
	dl_iterate_phdr(object_note, &found);
	if (found.cnt == 2 &&
	    !atomic_exchange_explicit(&is_told, true, memory_order_relaxed))
		util_err("kabi",
			 "this process has two libibverbs, %s and %s: only the "
			 "first that asks sees devices of usiw; let all parts "
			 "of the program load the same one",
			 found.paths[0], found.paths[1]);
}

/* A function of the RNIC library that the provider uses.  NULL: it has none. */
static const void *provider_rnic(const char *path)
{
	void *provider = util_loaded_module(path);

	return provider ? dlsym(provider, "rnic_device_list") : NULL;
}

static bool is_uncompared(const void *rnic_call)
{
	Dl_info info;

	return rnic_call && dladdr(rnic_call, &info) && info.dli_fname &&
	       strncmp(file_name(info.dli_fname), RNIC_UNCOMPARED,
		       strlen(RNIC_UNCOMPARED)) == 0;
}

static const char *own_file(void)
{
	Dl_info own;

	return dladdr((const void *)(uintptr_t)own_file, &own) && own.dli_fname
		       ? own.dli_fname
		       : "the library that shows the devices";
}

void kabi_provider_check_first(void)
{
	static atomic_bool is_done;
	struct objects found = { .prefix = PROVIDER, .max = PROVIDERS_MAX };
	const void *own = (const void *)(uintptr_t)kabi_rnic()->device_list;

	if (atomic_load_explicit(&is_done, memory_order_relaxed))
		return;
	/* The linker's lock is held meanwhile: no dlopen() in there. */
	dl_iterate_phdr(object_note, &found);
	for (size_t i = 0; i < found.cnt; i++) {
		const void *call = provider_rnic(found.paths[i]);

		if (call != own && !is_uncompared(call))
			continue; /* it compares, and logs the difference */
		if (!atomic_exchange_explicit(&is_done, true,
					      memory_order_relaxed) &&
		    call != own)
			util_err("kabi",
				 "the provider %s and %s are of two builds of "
				 "usiw: libibverbs gives this provider no "
				 "device: start the program by the usiw run of "
				 "one of them, or remove the other",
				 found.paths[i], own_file());
		return;
	}
}
