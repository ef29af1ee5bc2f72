/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See touch.h. */
#include "tree/touch.h"

#include <errno.h>
#include <pthread.h>

#include "util/cancel.h"
#include "util/env.h"
#include "util/keep-errno.h"
#include "util/log.h"
#include "tree/node-fd.h"
#include "base/process.h"
#include "base/provider.h"
#include "base/real.h"
#include "base/rnic-dl.h"
#include "tree/sysfs.h"

static pthread_once_t touch_once = PTHREAD_ONCE_INIT;

/* The RNIC library's own access to such a path must not start another touch. */
static _Thread_local bool is_touching;

/* Programs do not say why they do not see it. */
static void hardware_warn(void)
{
	const struct dirent64 *entry;
	DIR *dir;

	if (util_settings()->devices != UTIL_DEVICES_ONLY ||
	    !util_log_enabled(UTIL_LOG_WARN, "kabi"))
		return;
	dir = kabi_real()->opendir("/sys/class/infiniband");
	while (dir && (entry = kabi_real()->readdir64(dir)))
		if (entry->d_name[0] != '.')
			util_warn("kabi",
				  "%s, a device of the machine, is hidden: "
				  "USIW_DEVICES=beside shows it",
				  entry->d_name);
	if (dir)
		kabi_real()->closedir(dir);
}

static void touch(void)
{
	UTIL_CANCEL_OFF();
	const struct kabi_rnic *rnic;
	struct util_fdtab *fds;

	/* The RNIC library links the same code and reports for both. */
	util_settings_set_quiet();
	rnic = kabi_rnic_load();
	if (!rnic)
		return;
	fds = rnic->fdtab();
	if (!fds || kabi_node_fds_init() < 0 || kabi_tree_build(rnic) < 0 ||
	    kabi_process_start() != 0) {
		util_err("kabi", "cannot start: no device is shown");
		return;
	}
	kabi_provider_check();
	hardware_warn();
	/* release: publishes all of the above */
	atomic_store_explicit(&kabi_fds, fds, memory_order_release);
}

bool kabi_touch(void)
{
	UTIL_KEEP_ERRNO();

	if (atomic_load_explicit(&kabi_fds, memory_order_acquire))
		return true;
	if (is_touching)
		return false;
	is_touching = true;
	pthread_once(&touch_once, touch);
	is_touching = false;
	return atomic_load_explicit(&kabi_fds, memory_order_acquire) != NULL;
}
