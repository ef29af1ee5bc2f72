/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The RNIC's functions for usiw check, see fake-rnic.h. */
#include "test.h"

#include "fake-rnic.h"
#include "rnic/os/rnic-watch.h"

void rnic_watch(const struct rnic_watcher *watcher)
{
}

int rnic_chan_fd(const struct rnic_chan *chan)
{
	return -1;
}
