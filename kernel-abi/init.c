/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The constructor, the first touch of one of our paths, and fork. */
#include "kabi.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../util/cancel.h"
#include "../util/env.h"
#include "../util/log.h"
#include "cwd.h"
#include "fd.h"
#include "provider.h"
#include "real.h"
#include "sysfs.h"

#define RNIC_LIBRARY "libusiw-rnic-" USIW_INTERFACE ".so"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* readdir_r */
static struct kabi_reals real_pointers;
static const char *const real_names[] = { KABI_REALS(UTIL_REAL_NAME) };
#pragma GCC diagnostic pop

_Static_assert(sizeof(real_pointers) == sizeof(real_names),
	       "nothing but pointers, in the order of the names");

struct util_reals kabi_real_table = {
	.pointers = &real_pointers,
	.names = real_names,
	.cnt = sizeof(real_names) / sizeof(real_names[0]),
};

_Atomic(struct util_fdtab *) kabi_fds;
struct util_lock kabi_lock = UTIL_LOCK_INIT(UTIL_RANK_LEAF);

/* Which provider may take the devices of this library: providers/usiw. */
__attribute__((visibility("default"))) extern const char usiw_interface[];
const char usiw_interface[] = USIW_INTERFACE;

static struct kabi_rnic rnic_calls;
static pthread_once_t touch_once = PTHREAD_ONCE_INIT;
static _Atomic pid_t owner_pid;

/* The RNIC library's own look at one of our paths must not come back here. */
static _Thread_local bool is_touching;

/* Nothing but symbols: no file, no thread, no system call. */
__attribute__((constructor)) static void kabi_start(void)
{
	util_reals_fill(&kabi_real_table);
	kabi_cwd_start();
}

bool kabi_is_owner(void)
{
	return getpid() ==
	       atomic_load_explicit(&owner_pid, memory_order_relaxed);
}

/* The books must not be in the middle of a change when they are copied. */
static void fork_prepare(void)
{
	util_lock(&kabi_lock);
}

static void fork_parent(void)
{
	util_unlock(&kabi_lock);
}

static void fork_child(void)
{
	util_lock_fork_child();
	util_lock_init(&kabi_lock, UTIL_RANK_LEAF);
	atomic_store_explicit(&owner_pid, getpid(), memory_order_relaxed);
}

static void *rnic_open(void)
{
	char path[PATH_MAX];
	size_t len;
	void *lib;
	int ret;

	ret = util_object_dir((const void *)&real_pointers, path,
			      sizeof(path) - sizeof("/" RNIC_LIBRARY));
	if (ret < 0) {
		util_err("kabi", "cannot tell my own directory: %s",
			 strerror(-ret));
		return NULL;
	}
	len = strlen(path);
	memcpy(path + len, "/" RNIC_LIBRARY, sizeof("/" RNIC_LIBRARY));
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!lib)
		util_err("kabi",
			 "cannot load the RNIC library: %s; install usiw again",
			 dlerror());
	return lib;
}

static int rnic_resolve(void *lib)
{
	static const char *const names[] = {
#define KABI_RNIC_NAME(call) "rnic_" #call,
		KABI_RNIC_CALLS(KABI_RNIC_NAME)
	};
	char *slot = (char *)&rnic_calls;

	_Static_assert(sizeof(rnic_calls) == sizeof(names),
		       "nothing but pointers, in the order of the names");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *sym = dlsym(lib, names[i]);

		if (!sym) {
			util_err("kabi",
				 "%s has no %s: libraries of two "
				 "builds are mixed; install usiw again",
				 RNIC_LIBRARY, names[i]);
			return -1;
		}
		memcpy(slot + i * sizeof(sym), &sym, sizeof(sym));
	}
	return 0;
}

static void touch(void)
{
	UTIL_CANCEL_OFF();
	struct util_fdtab *fds;
	void *lib;

	/* The RNIC library links the same code and reports for both. */
	util_settings_set_quiet();
	lib = rnic_open();
	if (!lib || rnic_resolve(lib) < 0)
		return;
	fds = rnic_calls.fdtab();
	if (!fds || kabi_fd_init() < 0 || kabi_tree_build(&rnic_calls) < 0 ||
	    pthread_atfork(fork_prepare, fork_parent, fork_child) != 0) {
		util_err("kabi", "cannot start: no device is shown");
		return;
	}
	atomic_store_explicit(&owner_pid, getpid(), memory_order_relaxed);
	kabi_provider_check();
	/* release: publishes all of the above */
	atomic_store_explicit(&kabi_fds, fds, memory_order_release);
}

bool kabi_touch(void)
{
	int saved_errno = errno;

	if (atomic_load_explicit(&kabi_fds, memory_order_acquire))
		return true;
	if (is_touching)
		return false;
	is_touching = true;
	pthread_once(&touch_once, touch);
	is_touching = false;
	errno = saved_errno;
	return atomic_load_explicit(&kabi_fds, memory_order_acquire) != NULL;
}

const struct kabi_rnic *kabi_rnic(void)
{
	return kabi_touch() ? &rnic_calls : NULL;
}
