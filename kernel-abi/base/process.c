/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See process.h. */
#include "base/process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <unistd.h>

struct util_lock kabi_lock = UTIL_LOCK_INIT(UTIL_RANK_LEAF);

static _Atomic pid_t owner_pid;

bool kabi_is_owner(void)
{
	return getpid() ==
	       atomic_load_explicit(&owner_pid, memory_order_relaxed);
}

/* The tables must be consistent when fork copies them. */
static void fork_prepare(void)
{
	util_lock(&kabi_lock);
}

static void fork_parent(void)
{
	util_unlock(&kabi_lock);
}

static bool is_watched; /* the handlers are registered */

static void fork_child(void)
{
	is_watched = true; /* also if the parent was inside the start */
	util_lock_fork_child();
	util_lock_init(&kabi_lock, UTIL_RANK_LEAF);
	atomic_store_explicit(&owner_pid, getpid(), memory_order_relaxed);
}

int kabi_process_start(void)
{
	int err = 0;

	/* A second registration, in such a child, would take the lock twice. */
	if (!is_watched)
		err = pthread_atfork(fork_prepare, fork_parent, fork_child);
	if (err)
		return err;
	is_watched = true;
	atomic_store_explicit(&owner_pid, getpid(), memory_order_relaxed);
	return 0;
}
