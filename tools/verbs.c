/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See verbs.h. */
#include "verbs.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct verbs verbs;

int verbs_load(const char *library, char *ret_why, size_t size)
{
	static const char *const names[] = {
#define VERBS_NAME(call) #call,
		VERBS_CALLS(VERBS_NAME)
	};
	void *lib = dlopen(library, RTLD_NOW);

	_Static_assert(sizeof(verbs) == sizeof(names),
		       "nothing but pointers, in the order of the names");
	if (!lib) {
		snprintf(ret_why, size,
			 "%s; install libibverbs (Debian: libibverbs1)",
			 dlerror());
		return -1;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *sym = dlsym(lib, names[i]);

		if (!sym) {
			snprintf(ret_why, size, "%s has no %s", library,
				 names[i]);
			return -1;
		}
		memcpy((char *)&verbs + i * sizeof(sym), &sym, sizeof(sym));
	}
	return 0;
}

int verbs_first_entry(const char *path, char *ret_name, size_t size)
{
	const struct dirent *entry;
	int ret = -ENODATA;
	DIR *dir = opendir(path);

	if (!dir)
		return -errno;
	while (ret < 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(ret_name, size, "%s", entry->d_name);
		ret = 0;
	}
	closedir(dir);
	return ret;
}

void verbs_interface(const char *device, char ret_name[VERBS_INTERFACE_MAX])
{
	char path[256];

	snprintf(path, sizeof(path), VERBS_CLASS_DIR "/%s/device/net", device);
	if (verbs_first_entry(path, ret_name, VERBS_INTERFACE_MAX) < 0)
		strcpy(ret_name, "-");
}

const char *verbs_persona(const struct ibv_device *dev)
{
	return dev->transport_type == IBV_TRANSPORT_IWARP ? "rnic" : "ca";
}

const char *verbs_state(int state)
{
	switch (state) {
	case IBV_PORT_ACTIVE:
		return "active";
	case IBV_PORT_DOWN:
		return "down";
	case IBV_PORT_INIT:
		return "init";
	case IBV_PORT_ARMED:
		return "armed";
	default:
		return "unknown";
	}
}
