/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Messages of NETLINK_RDMA by hand, and what their answers consist of. */
#ifndef TEST_MESSAGES_H
#define TEST_MESSAGES_H

#include "test.h"

#include <errno.h>
#include <string.h>

#include "kernel-abi/netlink/nldev.h"
#include "rnic/rnic.h"

#define TYPE(op) RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, op)
#define PORTID 4711
#define SEQ 99
#define DUMP (NLM_F_REQUEST | NLM_F_DUMP)
#define MSG_MAX 256

struct message {
	uint8_t octets[MSG_MAX];
	size_t len;
};

static inline void attr_put(struct message *msg, uint16_t type,
			    const void *value, size_t len)
{
	struct nlattr attr = { .nla_len = (uint16_t)(sizeof(attr) + len),
			       .nla_type = type };

	memcpy(msg->octets + msg->len, &attr, sizeof(attr));
	memcpy(msg->octets + msg->len + sizeof(attr), value, len);
	msg->len += NLA_ALIGN(attr.nla_len);
}

/* @dev, @port: -1: omit; @type: NULL: omit. */
static inline struct message message(uint32_t op, uint16_t flags, int dev,
				     int port, const char *type)
{
	struct message msg = { .len = NLMSG_HDRLEN };
	struct nlmsghdr hdr = { .nlmsg_type = (uint16_t)TYPE(op),
				.nlmsg_flags = flags,
				.nlmsg_seq = SEQ };

	if (dev >= 0)
		attr_put(&msg, RDMA_NLDEV_ATTR_DEV_INDEX, &dev, 4);
	if (port >= 0)
		attr_put(&msg, RDMA_NLDEV_ATTR_PORT_INDEX, &port, 4);
	if (type)
		attr_put(&msg, RDMA_NLDEV_ATTR_CHARDEV_TYPE, type,
			 strlen(type) + 1);
	hdr.nlmsg_len = (uint32_t)msg.len;
	memcpy(msg.octets, &hdr, sizeof(hdr));
	return msg;
}

/* Adds an attribute of 32 bits. */
static inline void message_add(struct message *msg, uint16_t type,
			       uint32_t value)
{
	attr_put(msg, type, &value, sizeof(value));
	memcpy(msg->octets, &(uint32_t){ (uint32_t)msg->len }, 4);
}

static inline struct kabi_nldev_reply ask(const struct kabi_nldev *who,
					  const void *octets, size_t len)
{
	struct kabi_nldev_reply reply = { 0 };
	struct kabi_nldev_request req;

	assert_in_range(kabi_nldev_decode(octets, len, &req), 1, len);
	kabi_nldev_answer(who, &req, &reply);
	assert_false(reply.is_cut);
	return reply;
}

static inline struct nlmsghdr header_at(const struct kabi_nldev_reply *reply,
					size_t at)
{
	struct nlmsghdr hdr;

	assert_true(reply->len - at >= sizeof(hdr));
	memcpy(&hdr, reply->octets + at, sizeof(hdr));
	assert_in_range(hdr.nlmsg_len, sizeof(hdr), reply->len - at);
	assert_int_equal(hdr.nlmsg_pid, PORTID);
	assert_int_equal(hdr.nlmsg_seq, SEQ);
	return hdr;
}

/* Checks that the only message is an error with that number. */
static inline void error_is(const struct kabi_nldev_reply *reply, int err)
{
	struct nlmsgerr error;

	assert_int_equal(header_at(reply, 0).nlmsg_type, NLMSG_ERROR);
	memcpy(&error, reply->octets + NLMSG_HDRLEN, sizeof(error));
	assert_int_equal(error.error, err);
	assert_int_equal(NLMSG_ALIGN(header_at(reply, 0).nlmsg_len),
			 reply->len);
}

#endif
