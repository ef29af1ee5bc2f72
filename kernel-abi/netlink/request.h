/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Requests of NETLINK_RDMA's device interface, decoded and checked. */
#ifndef KABI_REQUEST_H
#define KABI_REQUEST_H

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "uverbs", "rdma_cm", ...; no type is longer. */
#define KABI_NLDEV_TYPE_MAX 32

/* The numbers that requests name objects by, and what they ask about them. */
enum kabi_nldev_arg {
	KABI_ARG_LQPN,
	KABI_ARG_CM_IDN,
	KABI_ARG_CQN,
	KABI_ARG_MRN,
	KABI_ARG_PDN,
	KABI_ARG_CTXN,
	KABI_ARG_SRQN,
	KABI_ARG_STAT_RES,
	KABI_ARG_STAT_MODE,
	KABI_ARG_COUNTER_ID,
	KABI_ARG_CNT
};

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
	uint32_t args; /* 1u << enum kabi_nldev_arg: those in @arg */
	uint32_t arg[KABI_ARG_CNT];
	char type[KABI_NLDEV_TYPE_MAX];
};

/*
 * Decodes the message at the start of [@buf, @buf + @len); @len is not 0.
 * Return: its length, 1 to @len; the next message begins after it.
 */
size_t kabi_nldev_decode(const void *buf, size_t len,
			 struct kabi_nldev_request *ret_req);

static inline bool kabi_nldev_has(const struct kabi_nldev_request *req,
				  enum kabi_nldev_arg arg)
{
	return req->args & 1u << arg;
}

#endif
