/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who is told of what struct rnic_watcher names. */
#ifndef RNIC_WATCH_H
#define RNIC_WATCH_H

#include "rnic-watch.h"

/* NULL: nobody.  One relaxed load. */
const struct rnic_watcher *rnic_watcher(void);

#endif
