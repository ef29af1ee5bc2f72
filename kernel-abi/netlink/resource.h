/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Answers of NETLINK_RDMA about resources: `rdma resource show`.
 *
 * All return 0, or the negative errno of the kernel; the reply is unchanged
 * then.  @dev: of the request; NULL: it names none.
 */
#ifndef KABI_RESOURCE_H
#define KABI_RESOURCE_H

#include "netlink/reply.h"

/* RES_GET: how many of each kind a device has; of all devices. */
int kabi_resource_sums(const struct kabi_nldev *nldev,
		       const struct kabi_nldev_request *req,
		       const struct kabi_nldev_device *dev,
		       struct kabi_nldev_reply *reply);
int kabi_resource_dump_sums(const struct kabi_nldev *nldev,
			    const struct kabi_nldev_request *req,
			    const struct kabi_nldev_device *dev,
			    struct kabi_nldev_reply *reply);

/* RES_QP_GET and its like, as kabi_listing_one() and kabi_listing_dump(). */
int kabi_resource_one(const struct kabi_nldev *nldev,
		      const struct kabi_nldev_request *req,
		      const struct kabi_nldev_device *dev,
		      struct kabi_nldev_reply *reply);
int kabi_resource_dump(const struct kabi_nldev *nldev,
		       const struct kabi_nldev_request *req,
		       const struct kabi_nldev_device *dev,
		       struct kabi_nldev_reply *reply);

#endif
