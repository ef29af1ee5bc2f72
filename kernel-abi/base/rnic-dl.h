/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The RNIC library for the preload library.  It is loaded at the first touch of
 * a path of the tree, never before, and called through this table.
 *
 * One list defines the fields, their types (the prototypes of rnic.h) and the
 * names for dlsym().  To use another function, add a line.
 */
#ifndef KABI_RNIC_DL_H
#define KABI_RNIC_DL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "rnic/cm/rnic-cm-ud.h"
#include "rnic/dev/rnic-stats.h"
#include "rnic/os/rnic-observer.h"
#include "rnic/qp/rnic-fault.h"
#include "rnic/rnic.h"
#include "util/fdtab.h"

#define KABI_RNIC_CALLS(X)                                                     \
	X(fdtab)                                                               \
	X(fork_gen)                                                            \
	X(guard_is_on)                                                         \
	X(guard_copy)                                                          \
	X(guard_sigaction)                                                     \
	X(limits)                                                              \
	X(device_list)                                                         \
	X(device_query)                                                        \
	X(device_stats)                                                        \
	X(device_by_name)                                                      \
	X(device_by_addr)                                                      \
	X(device_by_guid)                                                      \
	X(chan_new)                                                            \
	X(chan_fd)                                                             \
	X(chan_read)                                                           \
	X(chan_close)                                                          \
	X(chan_get_fd)                                                         \
	X(chan_put)                                                            \
	X(cm_chan_new)                                                         \
	X(cm_chan_fd)                                                          \
	X(cm_chan_set_file)                                                    \
	X(cm_chan_close)                                                       \
	X(cm_chan_free)                                                        \
	X(cm_get_event)                                                        \
	X(cm_create)                                                           \
	X(cm_create_ud)                                                        \
	X(cm_destroy)                                                          \
	X(cm_set_uid)                                                          \
	X(cm_bind)                                                             \
	X(cm_resolve_addr)                                                     \
	X(cm_resolve_route)                                                    \
	X(cm_query)                                                            \
	X(cm_listen)                                                           \
	X(cm_note_qp)                                                          \
	X(cm_connect)                                                          \
	X(cm_accept)                                                           \
	X(cm_establish)                                                        \
	X(cm_reject)                                                           \
	X(cm_disconnect)                                                       \
	X(cm_set_option)                                                       \
	X(fault_call)                                                          \
	X(observed_word)                                                       \
	X(observer_begin)                                                      \
	X(observer_end)                                                        \
	X(cm_write_event)                                                      \
	X(cm_migrate)                                                          \
	X(cm_join)                                                             \
	X(cm_leave)                                                            \
	X(cm_make_way)

#define KABI_RNIC_FIELD(call) __typeof__(&rnic_##call) call;

/* kabi_rnic()->cm_create(...) is rnic_cm_create(...). */
struct kabi_rnic {
	KABI_RNIC_CALLS(KABI_RNIC_FIELD)
};

/* Called during the first touch.  Return: NULL: the library could not be
 * loaded; the reason was logged. */
const struct kabi_rnic *kabi_rnic_load(void);

/* rnic's fd table; NULL before the end of the first touch. */
extern _Atomic(struct util_fdtab *) kabi_fds;

/* The kind of @fd in rnic's table; RNIC_FD_NONE before the first touch. */
static inline enum rnic_fd_kind kabi_fd_kind(int fd)
{
	/* acquire: pairs with the release at the end of the first touch */
	struct util_fdtab *fds =
		atomic_load_explicit(&kabi_fds, memory_order_acquire);

	return fds ? util_fdtab_lookup(fds, fd, NULL) : RNIC_FD_NONE;
}

static inline bool kabi_is_touched(void)
{
	/* acquire: as above */
	return atomic_load_explicit(&kabi_fds, memory_order_acquire) != NULL;
}

/*
 * The loaded library; NULL before the first touch (touch.h).  A call on an fd
 * of usiw may assume that it is not NULL, because the fd would not exist
 * otherwise. Any thread may call it.
 */
const struct kabi_rnic *kabi_rnic(void);

#endif
