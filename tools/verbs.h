/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The calls of libibverbs, and what it knows of a device.  Few commands need
 * them, so the library is loaded at run time. */
#ifndef VERBS_H
#define VERBS_H

#include <infiniband/verbs.h>
#include <stddef.h>

#define VERBS_LIBRARY "libibverbs.so.1"
#define VERBS_CLASS_DIR "/sys/class/infiniband"
#define VERBS_INTERFACE_MAX 256

/* The symbols, not the inline functions. */
#undef ibv_query_port
#undef ibv_reg_mr

#define VERBS_CALLS(X)                                                         \
	X(ibv_get_device_list)                                                 \
	X(ibv_free_device_list)                                                \
	X(ibv_get_device_name)                                                 \
	X(ibv_get_device_guid)                                                 \
	X(ibv_open_device)                                                     \
	X(ibv_close_device)                                                    \
	X(ibv_query_port)                                                      \
	X(ibv_query_gid)                                                       \
	X(ibv_alloc_pd)                                                        \
	X(ibv_dealloc_pd)                                                      \
	X(ibv_reg_mr)                                                          \
	X(ibv_dereg_mr)                                                        \
	X(ibv_create_cq)                                                       \
	X(ibv_destroy_cq)                                                      \
	X(ibv_create_qp)                                                       \
	X(ibv_modify_qp)                                                       \
	X(ibv_destroy_qp)

#define VERBS_FIELD(call) __typeof__(&call) call;

/* verbs.ibv_open_device(...); nothing but pointers. */
extern struct verbs {
	VERBS_CALLS(VERBS_FIELD)
} verbs;

/*
 * @library: a path, or the name that the dynamic linker looks for.
 * Return: 0; -1: the reason, and what to do, is in @ret_why.
 */
int verbs_load(const char *library, char *ret_why, size_t size);

/* First entry of a directory.  Return: 0; -ENODATA: it is empty; -errno. */
int verbs_first_entry(const char *path, char *ret_name, size_t size);

/* The network interface of a device; "-": it has none. */
void verbs_interface(const char *device, char ret_name[VERBS_INTERFACE_MAX]);

/* The persona, as libibverbs sees it. */
const char *verbs_persona(const struct ibv_device *dev);

/* The word for a state of a port. */
const char *verbs_state(int state);

#endif
