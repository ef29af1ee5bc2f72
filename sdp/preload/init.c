/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The beginning, the end, and fork. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "../../util/log.h"
#include "sock/adopt.h"
#include "sock/end.h"
#include "sock/epoll.h"
#include "sock/fd.h"
#include "sock/limit.h"
#include "sock/policy.h"
#include "sock/proxy.h"
#include "sock/real.h"
#include "sock/share.h"
#include "sock/sleeper.h"
#include "sock/start.h"
#include "sock/table.h"
#include "stat/sdp-stat.h"
#include "verbs/sdp-link.h"

static void fork_prepare(void)
{
	sdp_share_fork_prepare();
	sdp_watch_fork_prepare();
	sdp_verbs_fork_prepare();
}

static void fork_parent(void)
{
	sdp_verbs_fork_parent();
	sdp_watch_fork_parent();
	sdp_share_fork_parent();
}

static void fork_child(void)
{
	sdp_table_fork_child();
	sdp_watch_fork_child();
	sdp_sleeper_fork_child();
	sdp_stat_fork_child();
	sdp_fd_fork_child();
	sdp_policy_fork_child();
	sdp_start_fork_child();
	sdp_limit_fork_child();
	sdp_share_fork_child();
	sdp_verbs_after_fork();
}

static void inherited_take(void)
{
	sdp_adopt_inherited();
	sdp_proxy_inherited();
}

/* Without a table all stubs go to libc. */
__attribute__((constructor)) static void sdp_preload_start(void)
{
	util_reals_fill(&sdp_real_table);
	if (!sdp_policy_start())
		return;
	if (pthread_atfork(fork_prepare, fork_parent, fork_child) != 0 ||
	    sdp_table_start() < 0)
		util_err("sdp", "no memory: this program uses TCP only");
	else
		inherited_take();
}

__attribute__((destructor)) static void sdp_preload_end(void)
{
	sdp_end_process(true);
}
