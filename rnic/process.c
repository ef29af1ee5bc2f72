/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A fork, and the end of the process: in which order the modules are told.
 */
#include "cm/fork.h"
#include "dev/device.h"
#include "life.h"
#include "loop/loop.h"
#include "oob/oob.h"
#include "os/fd.h"
#include "os/guard.h"
#include "os/netif-cache.h"
#include "os/stat.h"
#include "port.h"
#include "qp/qp-table.h"
#include "start/start.h"

/* Its sockets are closed already, and it has one thread. */
static void process_child(struct util_fdtab *tab)
{
	rnic_guard_fork_child();
	rnic_netif_cache_fork_child();
	rnic_stat_fork_child();
	rnic_cm_fork_child(tab);
	rnic_oob_fork_child();
	rnic_starts_fork_child();
	rnic_port_fork_child();
	rnic_qp_table_fork_child();
	rnic_contexts_fork_child();
	rnic_device_fork_child();
}

static const struct rnic_fork process_fork = {
	.prepare = rnic_cm_fork_prepare,
	.parent = rnic_cm_fork_parent,
	.keep = rnic_cm_fork_keep,
	.child = process_child,
};

__attribute__((constructor)) static void process_start(void)
{
	rnic_fd_on_fork(&process_fork);
}

/*
 * The process exits with contexts open: let connections end in order, and the
 * streams finish, so that what was reported complete arrives.
 */
__attribute__((destructor)) static void process_exit(void)
{
	rnic_loop_stop();
	rnic_contexts_drain();
}
