/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Start and end of the library in a process, and fork. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "util/defer.h"
#include "util/log.h"
#include "sock/share/adopt.h"
#include "sock/show/epoll.h"
#include "sock/io/fd.h"
#include "sock/base/limit.h"
#include "sock/enter/enter.h"
#include "sock/start/owed.h"
#include "sock/base/policy.h"
#include "sock/share/exit.h"
#include "sock/base/real.h"
#include "sock/share/share.h"
#include "sock/show/sleeper.h"
#include "sock/start/start.h"
#include "sock/base/table.h"
#include "stat/sdp-stat.h"
#include "verbs/sdp-link.h"
#include "verbs/way.h"

/* All handlers of a fork run in the thread that forks. */
static _Thread_local bool is_prepared;

/*
 * Registered when the drivers are loaded. The kernel ABI and the RNIC have
 * handlers that take their locks, and those must run after this one.
 */
static void fork_prepare(void)
{
	if (is_prepared)
		return;
	is_prepared = true;
	util_defer_begin();
	sdp_share_fork_prepare();
	sdp_watch_fork_prepare();
	sdp_verbs_fork_prepare();
}

static void fork_parent(void)
{
	if (!is_prepared)
		return;
	is_prepared = false;
	sdp_verbs_fork_parent();
	sdp_watch_fork_parent();
	sdp_share_fork_parent();
	util_defer_end();
}

/*
 * Until the drivers are loaded no connection uses SDP. Another thread may hold
 * the lock of a socket while it loads the drivers, and wait for the lock of the
 * kernel ABI, which this thread holds. So this takes only locks that are held
 * briefly.
 */
static void early_prepare(void)
{
	if (is_prepared)
		return;
	util_defer_begin();
	sdp_watch_fork_prepare();
}

static void early_parent(void)
{
	if (is_prepared)
		return;
	sdp_watch_fork_parent();
	util_defer_end();
}

static void fork_child(void)
{
	is_prepared = false;
	util_defer_fork_child();
	sdp_table_fork_child();
	sdp_watch_fork_child();
	sdp_sleeper_fork_child();
	sdp_stat_fork_child();
	sdp_fd_fork_child();
	sdp_policy_fork_child();
	sdp_owed_fork_child();
	sdp_limit_fork_child();
	sdp_enter_fork_child();
	sdp_share_fork_child();
	sdp_verbs_after_fork();
	util_defer_end();
}

static void inherited_take(void)
{
	sdp_adopt_inherited();
	sdp_share_inherited();
}

/* Without the table all stubs call libc. */
__attribute__((constructor)) static void sdp_preload_start(void)
{
	util_reals_fill(&sdp_real_table);
	if (!sdp_policy_start())
		return;
	sdp_verbs_at_fork(fork_prepare, fork_parent);
	sdp_verbs_on_keep(sdp_private_note);
	if (pthread_atfork(early_prepare, early_parent, fork_child) != 0 ||
	    sdp_table_start() < 0)
		util_err("sdp", "no memory: this program uses TCP only");
	else
		inherited_take();
}

__attribute__((destructor)) static void sdp_preload_end(void)
{
	sdp_exit_run(true);
}
