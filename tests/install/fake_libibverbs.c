/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A libibverbs of a release that does not exist: its provider ABI has an unused
 * number, and there is no provider for it.
 */
#include <dirent.h>
#include <stdlib.h>

void verbs_register_driver_250(void *ops);
void **ibv_get_device_list(int *cnt);
void ibv_free_device_list(void **list);
void fake_call(void);

void verbs_register_driver_250(void *ops)
{
	(void)ops;
}

/* Searches where libibverbs searches, and finds no driver. */
void **ibv_get_device_list(int *cnt)
{
	DIR *dir = opendir("/sys/class/infiniband");

	if (dir)
		closedir(dir);
	if (cnt)
		*cnt = 0;
	return calloc(1, sizeof(void *));
}

void ibv_free_device_list(void **list)
{
	free(list);
}

/* They are never called, because there is no device. */
void fake_call(void)
{
	abort();
}

#define FAKE(name)                                                             \
	void name(void);                                                       \
	void name(void)                                                        \
	{                                                                      \
		fake_call();                                                   \
	}
FAKE(ibv_get_device_name)
FAKE(ibv_get_device_guid)
FAKE(ibv_open_device)
FAKE(ibv_close_device)
FAKE(ibv_query_port)
FAKE(ibv_query_gid)
FAKE(ibv_alloc_pd)
FAKE(ibv_dealloc_pd)
FAKE(ibv_reg_mr)
FAKE(ibv_dereg_mr)
FAKE(ibv_create_cq)
FAKE(ibv_destroy_cq)
FAKE(ibv_create_qp)
FAKE(ibv_modify_qp)
FAKE(ibv_destroy_qp)
