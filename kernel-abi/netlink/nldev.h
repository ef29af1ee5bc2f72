/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The answers of NETLINK_RDMA's device interface (RDMA_NL_NLDEV).  The file
 * uses no socket and no memory of the application.
 */
#ifndef KABI_NLDEV_H
#define KABI_NLDEV_H

#include "netlink/reply.h"

enum kabi_nldev_owner {
	KABI_NLDEV_OURS,
	KABI_NLDEV_BOTH, /* a list of all devices */
	KABI_NLDEV_KERNEL,
};

/* Which devices a request is for, beside real hardware. */
enum kabi_nldev_owner kabi_nldev_owner(const struct kabi_nldev *nldev,
				       const struct kabi_nldev_request *req);

/* Is it about resources, or the counters of queue pairs?  Then the answer needs
 * the census of struct kabi_nldev. */
bool kabi_nldev_wants_census(const struct kabi_nldev *nldev,
			     const struct kabi_nldev_request *req);

/* Is it about the counters of a port?  Then the answer needs the stats of its
 * struct kabi_nldev_device. */
bool kabi_nldev_wants_totals(const struct kabi_nldev *nldev,
			     const struct kabi_nldev_request *req);

/* Appends the reply of a kernel with usiw's devices, including errors.  Return:
 * 0; the error in it: -EINVAL: there is no such command, device or port, or an
 * attribute is missing or has the wrong size; -EOPNOTSUPP. */
int kabi_nldev_answer(const struct kabi_nldev *nldev,
		      const struct kabi_nldev_request *req,
		      struct kabi_nldev_reply *reply);

/*
 * The same, with the real kernel's reply to this request, which was sent with
 * NLM_F_ACK.  For KABI_NLDEV_BOTH the result has the devices of both, else only
 * the kernel's answer.  A device of the kernel with the name of a usiw device
 * is left out, as in the tree.
 */
void kabi_nldev_merge(const struct kabi_nldev *nldev,
		      const struct kabi_nldev_request *req, const void *real,
		      size_t real_len, struct kabi_nldev_reply *reply);

/* True if one of these messages is the last one of the kernel's reply. */
bool kabi_nldev_is_last(const uint8_t *octets, size_t len);

/*
 * How much of @reply, from the message at @at on, goes into one datagram: one
 * message, or as many messages of a list as fit the smallest buffer that
 * programs use.  Return: octets; 0 at the end.
 */
size_t kabi_nldev_datagram(const struct kabi_nldev_reply *reply, size_t at);

#endif
