/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Lists of resources in NETLINK_RDMA's answers: all of a device, or one by its
 * number.  They have the layouts of the kernel, whose tool reads them.
 */
#ifndef KABI_LISTING_H
#define KABI_LISTING_H

#include "base/census.h"
#include "netlink/reply.h"

struct kabi_listing {
	uint32_t op; /* of requests and replies */
	enum usiw_res_kind kind;
	enum kabi_nldev_arg number; /* by which one is asked for */
	bool is_of_port;	    /* one is asked for with its port */
	uint16_t table, entry;	    /* attributes around the rows, and a row */
	void (*put)(struct kabi_nldev_reply *reply,
		    const struct kabi_nldev *nldev,
		    const struct kabi_resource *row);
};

/* Is it a resource of the device, as a kernel counts them? */
bool kabi_listing_has(enum usiw_res_kind kind,
		      const struct kabi_nldev_device *dev,
		      const struct kabi_resource *row);

/* The number that the kernel's tool shows for it. */
uint32_t kabi_listing_number(enum usiw_res_kind kind,
			     const struct kabi_resource *row);

/* The process, by which the tool finds the name. */
void kabi_listing_put_pid(struct kabi_nldev_reply *reply,
			  const struct kabi_resource *row);

/*
 * Appends one resource, by its number; or all of a device.
 * @dev: of the request; NULL: it names none.
 *
 * Return: 0; -EINVAL: the request lacks a device, a port or a number; -ENOENT:
 *   no such number; -ENOTUNIQ: processes have given it to several resources.
 *   The kernel's tool then asks for all.
 */
int kabi_listing_one(const struct kabi_listing *listing,
		     const struct kabi_nldev *nldev,
		     const struct kabi_nldev_request *req,
		     const struct kabi_nldev_device *dev,
		     struct kabi_nldev_reply *reply);
int kabi_listing_dump(const struct kabi_listing *listing,
		      const struct kabi_nldev *nldev,
		      const struct kabi_nldev_request *req,
		      const struct kabi_nldev_device *dev,
		      struct kabi_nldev_reply *reply);

#endif
