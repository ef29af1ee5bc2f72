/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The messages of NETLINK_RDMA's device interface (RDMA_NL_NLDEV): requests
 * decoded and checked, replies encoded.  Octets in, octets out: no socket, no
 * memory of others.
 */
#ifndef KABI_NLDEV_H
#define KABI_NLDEV_H

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rnic_device_attr;

/* "uverbs", "rdma_cm", ...; longer ones name nothing. */
#define KABI_NLDEV_TYPE_MAX 32

struct kabi_nldev_request {
	struct nlmsghdr hdr; /* as far as it came, the rest zero */
	const uint8_t *msg;  /* the whole message, header included */
	size_t msg_len;
	/*
	 * 0: a request for an operation of RDMA_NL_NLDEV; a negative errno:
	 * what it is to be refused with.
	 */
	int err;
	bool is_quiet; /* no request at all: only an ACK where one is asked */
	uint32_t op;   /* enum rdma_nldev_command */
	bool has_dev, has_port, has_type;
	uint32_t dev_index, port_index;
	char type[KABI_NLDEV_TYPE_MAX];
};

/*
 * The message at the start of [@buf, @buf + @len), @len not 0.
 * Return: octets that it takes, 1 to @len; the next one begins behind them.
 */
size_t kabi_nldev_decode(const void *buf, size_t len,
			 struct kabi_nldev_request *ret_req);

/* One device as the messages show it. */
struct kabi_nldev_device {
	const struct rnic_device_attr *attr;
	uint32_t index;
};

/* Who answers, and to whom. */
struct kabi_nldev {
	const struct kabi_nldev_device *devices;
	size_t device_cnt;
	const char *fw_ver;
	uint32_t portid; /* of the socket that asked */
	bool is_capped;	 /* NETLINK_CAP_ACK: errors do not quote the request */
};

/* Messages one behind the other, each at a multiple of four octets. */
struct kabi_nldev_reply {
	uint8_t *octets;
	size_t len, size;
	bool is_cut; /* no memory: @octets end with the last whole message */
};

void kabi_nldev_reply_free(struct kabi_nldev_reply *reply);

enum kabi_nldev_owner {
	KABI_NLDEV_OURS,
	KABI_NLDEV_BOTH, /* a list of all devices */
	KABI_NLDEV_KERNEL,
};

/* Beside real hardware: to whom does the request belong? */
enum kabi_nldev_owner kabi_nldev_owner(const struct kabi_nldev *nldev,
				       const struct kabi_nldev_request *req);

/* Append what a kernel with our devices would reply, errors included. */
void kabi_nldev_answer(const struct kabi_nldev *nldev,
		       const struct kabi_nldev_request *req,
		       struct kabi_nldev_reply *reply);

/*
 * The same, with what the real kernel said to the same request, which was
 * sent with NLM_F_ACK: devices of both for KABI_NLDEV_BOTH, else the kernel's
 * answer alone.  A device of the kernel that has the name of one of ours is
 * left out, as in the tree.
 */
void kabi_nldev_merge(const struct kabi_nldev *nldev,
		      const struct kabi_nldev_request *req, const void *real,
		      size_t real_len, struct kabi_nldev_reply *reply);

/* Is one of these messages the last that the kernel has to say? */
bool kabi_nldev_is_last(const uint8_t *octets, size_t len);

/*
 * How much of @reply from the message at @at on goes into one datagram: one
 * message, or several of a list, as many as fit the smallest buffer that
 * readers use.  Return: octets; 0 at the end.
 */
size_t kabi_nldev_datagram(const struct kabi_nldev_reply *reply, size_t at);

#endif
