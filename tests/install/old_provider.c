/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A provider as in usiw 0.1.0: it accepts every device with usiw's name, and
 * does not check the preload library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "providers/usiw/verbs-abi.h"

int rnic_device_list(void);

static bool device_match(struct verbs_sysfs_dev *dev)
{
	return strncmp(dev->ibdev_name, "usiw_", strlen("usiw_")) == 0;
}

static struct verbs_device *device_alloc(struct verbs_sysfs_dev *dev)
{
	(void)dev;
	return calloc(1, sizeof(struct verbs_device));
}

static void device_uninit(struct verbs_device *dev)
{
	free(dev);
}

static struct verbs_context *context_alloc(struct ibv_device *device,
					   int cmd_fd, void *private_data)
{
	(void)private_data;
	fprintf(stderr, "the old provider opens %s\n", device->name);
	close(cmd_fd);
	errno = rnic_device_list() ? ENODEV : EIO;
	return NULL;
}

static const struct verbs_match_ent match_end[1];

static const struct verbs_device_ops ops = {
	.name = "usiw",
	.match_min_abi_version = 1,
	.match_max_abi_version = 1,
	.match_table = match_end,
	.match_device = device_match,
	.alloc_context = context_alloc,
	.alloc_device = device_alloc,
	.uninit_device = device_uninit,
};

static __attribute__((constructor)) void provider_register(void)
{
	static const unsigned numbers[] = { 34, 57, 59, 64, 65 };
	void *lib = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
	char name[32], version[32];
	void *symbol;

	for (size_t i = 0; lib && i < sizeof(numbers) / sizeof(*numbers); i++) {
		void (*register_driver)(const struct verbs_device_ops *ops);

		snprintf(name, sizeof(name), "verbs_register_driver_%u",
			 numbers[i]);
		snprintf(version, sizeof(version), "IBVERBS_PRIVATE_%u",
			 numbers[i]);
		symbol = dlvsym(lib, name, version);
		if (!symbol)
			continue;
		memcpy(&register_driver, &symbol, sizeof(symbol));
		register_driver(&ops);
	}
}
