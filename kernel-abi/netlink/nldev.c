/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* NETLINK_RDMA's device interface: requests answered. */
#include "netlink/nldev.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/usiw-abi.h"
#include "netlink/resource.h"
#include "netlink/statistic.h"
#include "rnic/rnic.h"
#include "tree/sysfs.h"

/* enum rdma_node_type, ib_port_state and ib_port_phys_state of the kernel. */
#define NODE_CA 1
#define NODE_RNIC 4
#define PORT_DOWN 1
#define PORT_ACTIVE 4
#define PORT_PHYS_DISABLED 3
#define PORT_PHYS_LINK_UP 5

/* ---- contents of messages ------------------------------------------------ */

static void put_device(const struct kabi_nldev *nldev,
		       const struct kabi_nldev_request *req,
		       const struct kabi_nldev_device *dev, uint16_t flags,
		       struct kabi_nldev_reply *reply)
{
	size_t start = kabi_reply_begin(
		reply, nldev, req, KABI_NLDEV_TYPE(RDMA_NLDEV_CMD_GET), flags);
	bool is_ca = dev->attr->persona == RNIC_PERSONA_CA;
	uint64_t guid = be64toh(dev->attr->guid_be);

	kabi_reply_handle(reply, dev);
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_PORT_INDEX, KABI_PORT_NUM);
	kabi_reply_text(reply, RDMA_NLDEV_ATTR_FW_VERSION, nldev->fw_ver);
	kabi_reply_u64(reply, RDMA_NLDEV_ATTR_NODE_GUID, guid);
	kabi_reply_u64(reply, RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, guid);
	kabi_reply_u8(reply, RDMA_NLDEV_ATTR_DEV_NODE_TYPE,
		      is_ca ? NODE_CA : NODE_RNIC);
	kabi_reply_text(reply, RDMA_NLDEV_ATTR_DEV_PROTOCOL,
			is_ca ? "roce" : "iw");
	kabi_reply_end(reply, start);
}

/* LID, subnet prefix and capability mask exist for InfiniBand's link layer
 * only, which usiw does not have.  The kernel's reply for one port has the type
 * of CMD_GET. */
static void put_port(const struct kabi_nldev *nldev,
		     const struct kabi_nldev_request *req,
		     const struct kabi_nldev_device *dev, uint32_t op,
		     uint16_t flags, struct kabi_nldev_reply *reply)
{
	const struct rnic_device_attr *attr = dev->attr;
	size_t start =
		kabi_reply_begin(reply, nldev, req, KABI_NLDEV_TYPE(op), flags);

	kabi_reply_handle(reply, dev);
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_PORT_INDEX, KABI_PORT_NUM);
	kabi_reply_u8(reply, RDMA_NLDEV_ATTR_PORT_STATE,
		      attr->is_up ? PORT_ACTIVE : PORT_DOWN);
	kabi_reply_u8(reply, RDMA_NLDEV_ATTR_PORT_PHYS_STATE,
		      attr->is_up ? PORT_PHYS_LINK_UP : PORT_PHYS_DISABLED);
	if (attr->ifindex) {
		kabi_reply_u32(reply, RDMA_NLDEV_ATTR_NDEV_INDEX,
			       attr->ifindex);
		kabi_reply_text(reply, RDMA_NLDEV_ATTR_NDEV_NAME, attr->ifname);
	}
	kabi_reply_end(reply, start);
}

/* As the kernel's huge_encode_dev(). */
static uint64_t devt_encode(uint32_t major, uint32_t minor)
{
	return (minor & 0xff) | major << 8 | (uint64_t)(minor & ~0xffu) << 12;
}

static void put_chardev(struct kabi_nldev_reply *reply, uint64_t devt,
			uint64_t abi, const char *name)
{
	kabi_reply_u64(reply, RDMA_NLDEV_ATTR_CHARDEV, devt);
	kabi_reply_u64(reply, RDMA_NLDEV_ATTR_CHARDEV_ABI, abi);
	kabi_reply_text(reply, RDMA_NLDEV_ATTR_CHARDEV_NAME, name);
}

static void put_done(const struct kabi_nldev *nldev,
		     const struct kabi_nldev_request *req,
		     struct kabi_nldev_reply *reply)
{
	size_t start =
		kabi_reply_begin(reply, nldev, req, NLMSG_DONE, NLM_F_MULTI);

	(void)kabi_reply_grow(reply, sizeof(int));
	kabi_reply_end(reply, start);
}

/* @err: 0 for an ACK. */
static void put_error(const struct kabi_nldev *nldev,
		      const struct kabi_nldev_request *req, int err,
		      struct kabi_nldev_reply *reply)
{
	bool is_quoted = err && !nldev->is_capped;
	size_t start = kabi_reply_begin(reply, nldev, req, NLMSG_ERROR,
					is_quoted ? 0 : NLM_F_CAPPED);
	struct nlmsgerr error = { .error = err, .msg = req->hdr };
	size_t more = 0;
	uint8_t *at;

	if (is_quoted && req->msg_len > NLMSG_HDRLEN)
		more = req->msg_len - NLMSG_HDRLEN;
	at = kabi_reply_grow(reply, sizeof(error) + more);
	if (at) {
		memcpy(at, &error, sizeof(error));
		if (more)
			memcpy(at + sizeof(error), req->msg + NLMSG_HDRLEN,
			       more);
	}
	kabi_reply_end(reply, start);
}

/* ---- operations --------------------------------------------------------- */

static const struct kabi_nldev_device *
device_find(const struct kabi_nldev *nldev,
	    const struct kabi_nldev_request *req)
{
	for (size_t i = 0; req->has_dev && i < nldev->device_cnt; i++)
		if (nldev->devices[i].index == req->dev_index)
			return &nldev->devices[i];
	return NULL;
}

static int answer_get(const struct kabi_nldev *nldev,
		      const struct kabi_nldev_request *req,
		      const struct kabi_nldev_device *dev,
		      struct kabi_nldev_reply *reply)
{
	if (!dev)
		return -EINVAL;
	put_device(nldev, req, dev, 0, reply);
	return 0;
}

static int answer_port(const struct kabi_nldev *nldev,
		       const struct kabi_nldev_request *req,
		       const struct kabi_nldev_device *dev,
		       struct kabi_nldev_reply *reply)
{
	if (!dev || !req->has_port || req->port_index != KABI_PORT_NUM)
		return -EINVAL;
	put_port(nldev, req, dev, RDMA_NLDEV_CMD_GET, 0, reply);
	return 0;
}

/* libibverbs asks for the "uverbs" of a device, librdmacm for "rdma_cm". */
static int answer_chardev(const struct kabi_nldev *nldev,
			  const struct kabi_nldev_request *req,
			  const struct kabi_nldev_device *dev,
			  struct kabi_nldev_reply *reply)
{
	bool is_uverbs = strcmp(req->type, "uverbs") == 0;
	char name[32];
	size_t start;

	if (!req->has_type || (req->has_dev && !dev) ||
	    (req->has_port && (!dev || req->port_index != KABI_PORT_NUM)))
		return -EINVAL;
	if (is_uverbs ? !dev : strcmp(req->type, "rdma_cm") != 0)
		return -EOPNOTSUPP;
	start = kabi_reply_begin(reply, nldev, req,
				 KABI_NLDEV_TYPE(RDMA_NLDEV_CMD_GET_CHARDEV),
				 0);
	if (is_uverbs) {
		/* No driver of rdma-core must match the device by this ID. */
		kabi_reply_u32(reply, RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID, 0);
		snprintf(name, sizeof(name), "uverbs%u", dev->attr->uverbs_num);
		put_chardev(reply,
			    devt_encode(KABI_UVERBS_MAJOR,
					KABI_UVERBS_MINOR_BASE +
						dev->attr->uverbs_num),
			    USIW_UVERBS_ABI, name);
	} else {
		put_chardev(reply, devt_encode(KABI_MISC_MAJOR, KABI_UCM_MINOR),
			    KABI_UCM_ABI, "rdma_cm");
	}
	kabi_reply_end(reply, start);
	return 0;
}

/*
 * A process sees the devices of its own network namespace: "exclusive".  A
 * fork never takes registered memory from the parent, because the engine reads
 * and writes it through the parent's page tables.
 */
static int answer_sys(const struct kabi_nldev *nldev,
		      const struct kabi_nldev_request *req,
		      const struct kabi_nldev_device *dev,
		      struct kabi_nldev_reply *reply)
{
	size_t start = kabi_reply_begin(
		reply, nldev, req, KABI_NLDEV_TYPE(RDMA_NLDEV_CMD_SYS_GET), 0);

	(void)dev;
	kabi_reply_u8(reply, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 0);
	kabi_reply_u8(reply, RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 1);
	kabi_reply_end(reply, start);
	return 0;
}

static int dump_get(const struct kabi_nldev *nldev,
		    const struct kabi_nldev_request *req,
		    const struct kabi_nldev_device *dev,
		    struct kabi_nldev_reply *reply)
{
	(void)dev;
	for (size_t i = 0; i < nldev->device_cnt; i++)
		put_device(nldev, req, &nldev->devices[i], NLM_F_MULTI, reply);
	return 0;
}

static int dump_port(const struct kabi_nldev *nldev,
		     const struct kabi_nldev_request *req,
		     const struct kabi_nldev_device *dev,
		     struct kabi_nldev_reply *reply)
{
	if (!dev)
		return -EINVAL;
	put_port(nldev, req, dev, RDMA_NLDEV_CMD_PORT_GET, NLM_F_MULTI, reply);
	return 0;
}

typedef int (*answer_fn)(const struct kabi_nldev *nldev,
			 const struct kabi_nldev_request *req,
			 const struct kabi_nldev_device *dev,
			 struct kabi_nldev_reply *reply);

static const struct operation {
	answer_fn answer, dump;
} operations[RDMA_NLDEV_NUM_OPS] = {
	[RDMA_NLDEV_CMD_GET] = { answer_get, dump_get },
	[RDMA_NLDEV_CMD_PORT_GET] = { answer_port, dump_port },
	[RDMA_NLDEV_CMD_RES_GET] = { kabi_resource_sums,
				     kabi_resource_dump_sums },
	[RDMA_NLDEV_CMD_RES_QP_GET] = { kabi_resource_one, kabi_resource_dump },
	[RDMA_NLDEV_CMD_RES_CM_ID_GET] = { kabi_resource_one,
					   kabi_resource_dump },
	[RDMA_NLDEV_CMD_RES_CQ_GET] = { kabi_resource_one, kabi_resource_dump },
	[RDMA_NLDEV_CMD_RES_MR_GET] = { kabi_resource_one, kabi_resource_dump },
	[RDMA_NLDEV_CMD_RES_PD_GET] = { kabi_resource_one, kabi_resource_dump },
	[RDMA_NLDEV_CMD_RES_CTX_GET] = { kabi_resource_one,
					 kabi_resource_dump },
	[RDMA_NLDEV_CMD_RES_SRQ_GET] = { kabi_resource_one,
					 kabi_resource_dump },
	[RDMA_NLDEV_CMD_STAT_GET] = { kabi_statistic_get, kabi_statistic_dump },
	[RDMA_NLDEV_CMD_SYS_GET] = { answer_sys, NULL },
	[RDMA_NLDEV_CMD_GET_CHARDEV] = { answer_chardev, NULL },
};

static bool is_dump(const struct kabi_nldev_request *req)
{
	return req->hdr.nlmsg_flags &
	       NLM_F_DUMP; /* either bit, as the kernel */
}

enum kabi_nldev_owner kabi_nldev_owner(const struct kabi_nldev *nldev,
				       const struct kabi_nldev_request *req)
{
	if (req->err < 0 || req->is_quiet || device_find(nldev, req))
		return KABI_NLDEV_OURS;
	if ((req->op == RDMA_NLDEV_CMD_GET ||
	     req->op == RDMA_NLDEV_CMD_RES_GET) &&
	    is_dump(req))
		return KABI_NLDEV_BOTH;
	if (req->op == RDMA_NLDEV_CMD_GET_CHARDEV && !req->has_dev &&
	    strcmp(req->type, "rdma_cm") == 0)
		return KABI_NLDEV_OURS;
	return KABI_NLDEV_KERNEL;
}

/* What answers the request; NULL: it is wrong, or the kernel's. */
static answer_fn answer_find(const struct kabi_nldev *nldev,
			     const struct kabi_nldev_request *req)
{
	if (req->err < 0 || req->is_quiet ||
	    kabi_nldev_owner(nldev, req) == KABI_NLDEV_KERNEL)
		return NULL;
	return operations[req->op].answer;
}

bool kabi_nldev_wants_census(const struct kabi_nldev *nldev,
			     const struct kabi_nldev_request *req)
{
	answer_fn fn = answer_find(nldev, req);

	return fn == kabi_resource_sums || fn == kabi_resource_one ||
	       (fn == kabi_statistic_get &&
		kabi_nldev_has(req, KABI_ARG_STAT_RES));
}

bool kabi_nldev_wants_totals(const struct kabi_nldev *nldev,
			     const struct kabi_nldev_request *req)
{
	return answer_find(nldev, req) == kabi_statistic_get &&
	       !kabi_nldev_has(req, KABI_ARG_STAT_RES);
}

int kabi_nldev_answer(const struct kabi_nldev *nldev,
		      const struct kabi_nldev_request *req,
		      struct kabi_nldev_reply *reply)
{
	bool is_list = !req->is_quiet && is_dump(req);
	answer_fn fn = NULL;
	int ret = req->err;

	if (ret == 0 && !req->is_quiet) {
		fn = is_list ? operations[req->op].dump
			     : operations[req->op].answer;
		ret = fn ? fn(nldev, req, device_find(nldev, req), reply)
			 : -EOPNOTSUPP;
	}
	if (ret < 0 || (!is_list && (req->hdr.nlmsg_flags & NLM_F_ACK)))
		put_error(nldev, req, ret, reply);
	else if (is_list)
		put_done(nldev, req, reply);
	return ret;
}

/* ---- beside real hardware ----------------------------------------------- */

/* Copies the header of the whole message at @at; 0: there is none. */
static size_t message_at(const uint8_t *at, size_t left,
			 struct nlmsghdr *ret_hdr)
{
	if (left < NLMSG_HDRLEN)
		return 0;
	memcpy(ret_hdr, at, sizeof(*ret_hdr));
	if (ret_hdr->nlmsg_len < NLMSG_HDRLEN || ret_hdr->nlmsg_len > left)
		return 0;
	return ret_hdr->nlmsg_len;
}

/* True if the message is about a device with the name of a usiw device. */
static bool is_hidden(const struct kabi_nldev *nldev, const uint8_t *msg,
		      size_t len)
{
	const uint8_t *at = msg + NLMSG_HDRLEN;
	size_t left = len - NLMSG_HDRLEN;
	struct nlattr attr;
	size_t step;

	for (; left >= sizeof(attr); at += step, left -= step) {
		const char *name = (const char *)at + sizeof(attr);

		memcpy(&attr, at, sizeof(attr));
		if (attr.nla_len < sizeof(attr) || attr.nla_len > left)
			return false;
		step = NLA_ALIGN(attr.nla_len);
		if (step > left)
			step = left;
		if ((attr.nla_type & NLA_TYPE_MASK) != RDMA_NLDEV_ATTR_DEV_NAME)
			continue;
		for (size_t i = 0; i < nldev->device_cnt; i++)
			if (strncmp(nldev->devices[i].attr->name, name,
				    attr.nla_len - sizeof(attr)) == 0)
				return true;
	}
	return false;
}

static void message_copy(const struct kabi_nldev *nldev, const uint8_t *msg,
			 size_t len, struct kabi_nldev_reply *reply)
{
	size_t start = reply->len;
	uint8_t *at = kabi_reply_grow(reply, len);

	if (at) {
		memcpy(at, msg, len);
		memcpy(at + offsetof(struct nlmsghdr, nlmsg_pid),
		       &nldev->portid, sizeof(nldev->portid));
	}
	kabi_reply_end(reply, start);
}

void kabi_nldev_merge(const struct kabi_nldev *nldev,
		      const struct kabi_nldev_request *req, const void *real,
		      size_t real_len, struct kabi_nldev_reply *reply)
{
	bool is_list = kabi_nldev_owner(nldev, req) == KABI_NLDEV_BOTH;
	const uint8_t *at = real;
	struct nlmsghdr hdr;
	size_t len, step;

	if (is_list)
		(void)operations[req->op].dump(nldev, req, NULL, reply);
	for (; (len = message_at(at, real_len, &hdr)); at += step) {
		int err = 0;

		step = NLMSG_ALIGN(len) < real_len ? NLMSG_ALIGN(len)
						   : real_len;
		real_len -= step;
		if (hdr.nlmsg_type == NLMSG_ERROR &&
		    len >= NLMSG_HDRLEN + sizeof(err))
			memcpy(&err, at + NLMSG_HDRLEN, sizeof(err));
		if (is_list && (hdr.nlmsg_type < NLMSG_MIN_TYPE ||
				is_hidden(nldev, at, len)))
			continue;
		/* usiw asked for the ACK; the application may not have. */
		if (hdr.nlmsg_type == NLMSG_ERROR && err == 0 &&
		    !(req->hdr.nlmsg_flags & NLM_F_ACK))
			continue;
		message_copy(nldev, at, len, reply);
	}
	if (is_list)
		put_done(nldev, req, reply);
}

bool kabi_nldev_is_last(const uint8_t *octets, size_t len)
{
	struct nlmsghdr hdr;
	size_t msg;

	for (; (msg = message_at(octets, len, &hdr)); octets += msg) {
		if (hdr.nlmsg_type == NLMSG_ERROR ||
		    hdr.nlmsg_type == NLMSG_DONE)
			return true;
		msg = NLMSG_ALIGN(msg) < len ? NLMSG_ALIGN(msg) : len;
		len -= msg;
	}
	return false;
}

/* ---- datagrams ---------------------------------------------------------- */

size_t kabi_nldev_datagram(const struct kabi_nldev_reply *reply, size_t at)
{
	size_t taken = 0, left = reply->len - at, msg;
	struct nlmsghdr hdr;

	while (left > 0 &&
	       (msg = message_at(reply->octets + at + taken, left, &hdr))) {
		msg = NLMSG_ALIGN(msg) < left ? NLMSG_ALIGN(msg) : left;
		if (taken && (!(hdr.nlmsg_flags & NLM_F_MULTI) ||
			      taken + msg > KABI_DATAGRAM_MAX))
			break;
		taken += msg;
		left -= msg;
		if (!(hdr.nlmsg_flags & NLM_F_MULTI))
			break;
	}
	return taken;
}
