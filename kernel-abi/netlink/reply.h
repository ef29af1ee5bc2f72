/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Replies of NETLINK_RDMA's device interface, and who gives them. */
#ifndef KABI_REPLY_H
#define KABI_REPLY_H

#include "netlink/request.h"
#include "rnic/dev/rnic-stats.h"

struct kabi_census;

/* The only port of a device. */
#define KABI_PORT_NUM 1

/* libmnl's MNL_SOCKET_BUFFER_SIZE on machines with small pages. */
#define KABI_DATAGRAM_MAX 4096

/* One device as the messages show it. */
struct kabi_nldev_device {
	const struct rnic_device_attr *attr;
	uint32_t index;
	struct rnic_device_stats stats; /* for those of the port only */
};

/* The devices that answer, and the socket that asked. */
struct kabi_nldev {
	const struct kabi_nldev_device *devices;
	size_t device_cnt;
	const char *fw_ver;
	uint32_t portid; /* of the socket that asked */
	bool is_capped;	 /* NETLINK_CAP_ACK: errors do not quote the request */
	const struct kabi_census *census; /* for resources and their counters */
};

/* Consecutive messages, each at a multiple of four octets. */
struct kabi_nldev_reply {
	uint8_t *octets;
	size_t len, size;
	bool is_cut; /* no memory: @octets ends with the last whole message */
};

void kabi_nldev_reply_free(struct kabi_nldev_reply *reply);

/* What all of these add to has no effect once the reply is cut. */

/* @len octets more, zeroed; NULL: no memory, now or before. */
uint8_t *kabi_reply_grow(struct kabi_nldev_reply *reply, size_t len);

/*
 * A message begins: the answer to @req, of @type.
 * Return: where, for kabi_reply_end().
 */
size_t kabi_reply_begin(struct kabi_nldev_reply *reply,
			const struct kabi_nldev *nldev,
			const struct kabi_nldev_request *req, uint16_t type,
			uint16_t flags);
void kabi_reply_end(struct kabi_nldev_reply *reply, size_t start);

/* Attributes until kabi_reply_nested() are inside of one of @type. */
size_t kabi_reply_nest(struct kabi_nldev_reply *reply, uint16_t type);
void kabi_reply_nested(struct kabi_nldev_reply *reply, size_t start);

void kabi_reply_put(struct kabi_nldev_reply *reply, uint16_t type,
		    const void *payload, size_t len);
void kabi_reply_u8(struct kabi_nldev_reply *reply, uint16_t type,
		   uint8_t value);
void kabi_reply_u32(struct kabi_nldev_reply *reply, uint16_t type,
		    uint32_t value);
void kabi_reply_u64(struct kabi_nldev_reply *reply, uint16_t type,
		    uint64_t value);
void kabi_reply_text(struct kabi_nldev_reply *reply, uint16_t type,
		     const char *text);

/* Which device a message is about. */
void kabi_reply_handle(struct kabi_nldev_reply *reply,
		       const struct kabi_nldev_device *dev);

#define KABI_NLDEV_TYPE(op) ((uint16_t)RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, (op)))

#endif
