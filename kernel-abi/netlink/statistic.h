/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Answers of NETLINK_RDMA about counters: `rdma statistic`.  The kernel counts
 * a port, and queue pairs that are bound to a counter; here each queue pair has
 * a counter of its own, with its number.
 *
 * All return 0, or the negative errno of the kernel; the reply is unchanged
 * then.  @dev: of the request; NULL: it names none.
 */
#ifndef KABI_STATISTIC_H
#define KABI_STATISTIC_H

#include "netlink/reply.h"

/* STAT_GET: the counters of a port, of one queue pair, or how queue pairs are
 * bound to counters; all queue pairs of a device. */
int kabi_statistic_get(const struct kabi_nldev *nldev,
		       const struct kabi_nldev_request *req,
		       const struct kabi_nldev_device *dev,
		       struct kabi_nldev_reply *reply);
int kabi_statistic_dump(const struct kabi_nldev *nldev,
			const struct kabi_nldev_request *req,
			const struct kabi_nldev_device *dev,
			struct kabi_nldev_reply *reply);

#endif
