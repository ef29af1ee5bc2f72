/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The counter pages of usiw's processes, this one included.  A kernel knows the
 * objects of all processes; here each process has its own, and others read its
 * page.
 */
#ifndef KABI_PEERS_H
#define KABI_PEERS_H

#include <stdbool.h>

#include "util/stat-read.h"

struct kabi_peer {
	int pid; /* as this process calls it */
	/* The process runs.  Otherwise it has left its page in USIW_STAT_DIR,
	 * and only its counters mean something. */
	bool is_running;
	const struct util_stat *stat;
};

typedef int (*kabi_peers_fn)(void *arg, const struct kabi_peer *peer);

/*
 * Calls @each for the page of each process that this one could debug: those of
 * its user; for root, all.  Processes of other network namespaces have other
 * devices, and are left out.
 *
 * Return: 0; -ENOMEM, of @each too.  What cannot be read is left out.
 * Context: any thread, without a lock.  It looks through /proc.
 */
int kabi_peers_each(kabi_peers_fn each, void *arg);

#endif
