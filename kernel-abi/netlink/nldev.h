/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The messages of NETLINK_RDMA's device interface (RDMA_NL_NLDEV).  The file
 * decodes and checks requests, and encodes replies.  It uses no socket and no
 * memory of the application.
 */
#ifndef KABI_NLDEV_H
#define KABI_NLDEV_H

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rnic_device_attr;

/* "uverbs", "rdma_cm", ...; no type is longer. */
#define KABI_NLDEV_TYPE_MAX 32

struct kabi_nldev_request {
	struct nlmsghdr hdr; /* as far as it was sent, the rest zero */
	const uint8_t *msg;  /* the whole message, header included */
	size_t msg_len;
	/*
	 * 0: a request for an operation of RDMA_NL_NLDEV; else the negative
	 * errno to refuse it with.
	 */
	int err;
	bool is_quiet; /* not a request: send an ACK only if asked */
	uint32_t op;   /* enum rdma_nldev_command */
	bool has_dev, has_port, has_type;
	uint32_t dev_index, port_index;
	char type[KABI_NLDEV_TYPE_MAX];
};

/*
 * Decodes the message at the start of [@buf, @buf + @len); @len is not 0.
 * Return: its length, 1 to @len; the next message begins after it.
 */
size_t kabi_nldev_decode(const void *buf, size_t len,
			 struct kabi_nldev_request *ret_req);

/* One device as the messages show it. */
struct kabi_nldev_device {
	const struct rnic_device_attr *attr;
	uint32_t index;
};

/* The devices that answer, and the socket that asked. */
struct kabi_nldev {
	const struct kabi_nldev_device *devices;
	size_t device_cnt;
	const char *fw_ver;
	uint32_t portid; /* of the socket that asked */
	bool is_capped;	 /* NETLINK_CAP_ACK: errors do not quote the request */
};

/* Consecutive messages, each at a multiple of four octets. */
struct kabi_nldev_reply {
	uint8_t *octets;
	size_t len, size;
	bool is_cut; /* no memory: @octets ends with the last whole message */
};

void kabi_nldev_reply_free(struct kabi_nldev_reply *reply);

enum kabi_nldev_owner {
	KABI_NLDEV_OURS,
	KABI_NLDEV_BOTH, /* a list of all devices */
	KABI_NLDEV_KERNEL,
};

/* Which devices a request is for, beside real hardware. */
enum kabi_nldev_owner kabi_nldev_owner(const struct kabi_nldev *nldev,
				       const struct kabi_nldev_request *req);

/* Appends the reply of a kernel with usiw's devices, including errors. */
void kabi_nldev_answer(const struct kabi_nldev *nldev,
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
