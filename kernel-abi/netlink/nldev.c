/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* NETLINK_RDMA's device interface: requests decoded, replies encoded. */
#include "netlink/nldev.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/usiw-abi.h"
#include "rnic/rnic.h"
#include "tree/sysfs.h"

/* libmnl's MNL_SOCKET_BUFFER_SIZE on machines with small pages. */
#define DATAGRAM_MAX 4096

/* enum rdma_node_type, ib_port_state and ib_port_phys_state of the kernel. */
#define NODE_CA 1
#define NODE_RNIC 4
#define PORT_DOWN 1
#define PORT_ACTIVE 4
#define PORT_PHYS_DISABLED 3
#define PORT_PHYS_LINK_UP 5

#define PORT_NUM 1 /* of one */

#define NLDEV_TYPE(op) RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, (op))

/* ---- requests ----------------------------------------------------------- */

/* Copies a string that fits.  Like the kernel, it accepts one without NUL. */
static bool type_copy(const uint8_t *octets, size_t len,
		      char ret_type[KABI_NLDEV_TYPE_MAX])
{
	len = strnlen((const char *)octets, len);
	if (len == 0 || len >= KABI_NLDEV_TYPE_MAX)
		return false;
	memcpy(ret_type, octets, len);
	ret_type[len] = '\0';
	return true;
}

/* Return: 0; -EINVAL: an attribute that is needed has the wrong form. */
static int attr_take(struct kabi_nldev_request *req, uint16_t type,
		     const uint8_t *payload, size_t len)
{
	switch (type & NLA_TYPE_MASK) {
	case RDMA_NLDEV_ATTR_DEV_INDEX:
		if (len != sizeof(req->dev_index))
			return -EINVAL;
		memcpy(&req->dev_index, payload, len);
		req->has_dev = true;
		return 0;
	case RDMA_NLDEV_ATTR_PORT_INDEX:
		if (len != sizeof(req->port_index))
			return -EINVAL;
		memcpy(&req->port_index, payload, len);
		req->has_port = true;
		return 0;
	case RDMA_NLDEV_ATTR_CHARDEV_TYPE:
		if (!type_copy(payload, len, req->type))
			return -EINVAL;
		req->has_type = true;
		return 0;
	default:
		return 0; /* the kernel ignores it, too */
	}
}

static int attrs_take(struct kabi_nldev_request *req)
{
	const uint8_t *at = req->msg + NLMSG_HDRLEN;
	size_t left = req->msg_len - NLMSG_HDRLEN;
	struct nlattr attr;
	size_t step;
	int ret = 0;

	while (ret == 0 && left > 0) {
		if (left < sizeof(attr))
			return -EINVAL;
		memcpy(&attr, at, sizeof(attr));
		if (attr.nla_len < sizeof(attr) || attr.nla_len > left)
			return -EINVAL;
		ret = attr_take(req, attr.nla_type, at + sizeof(attr),
				attr.nla_len - sizeof(attr));
		step = NLA_ALIGN(attr.nla_len);
		if (step > left)
			step = left;
		at += step;
		left -= step;
	}
	return ret;
}

static int request_check(struct kabi_nldev_request *req)
{
	uint16_t type = req->hdr.nlmsg_type;

	if (RDMA_NL_GET_CLIENT(type) != RDMA_NL_NLDEV)
		return -EINVAL; /* no such subsystem is loaded */
	req->op = RDMA_NL_GET_OP(type);
	if (req->op == RDMA_NLDEV_CMD_UNSPEC || req->op >= RDMA_NLDEV_NUM_OPS)
		return -EINVAL;
	return attrs_take(req);
}

size_t kabi_nldev_decode(const void *buf, size_t len,
			 struct kabi_nldev_request *ret_req)
{
	size_t have = len < NLMSG_HDRLEN ? len : NLMSG_HDRLEN;
	struct kabi_nldev_request *req = ret_req;
	size_t step;

	memset(req, 0, sizeof(*req));
	memcpy(&req->hdr, buf, have);
	req->msg = buf;
	req->msg_len = len;
	/* The kernel drops these two without a reply.  A program that waited
	 * for a reply would wait for ever, so they are refused here. */
	if (have < NLMSG_HDRLEN || req->hdr.nlmsg_len < NLMSG_HDRLEN ||
	    req->hdr.nlmsg_len > len) {
		req->err = -EINVAL;
		return len;
	}
	req->msg_len = req->hdr.nlmsg_len;
	if (!(req->hdr.nlmsg_flags & NLM_F_REQUEST) ||
	    req->hdr.nlmsg_type < NLMSG_MIN_TYPE)
		req->is_quiet = true;
	else
		req->err = request_check(req);
	step = NLMSG_ALIGN(req->msg_len);
	return step < len ? step : len;
}

/* ---- encoding ----------------------------------------------------------- */

void kabi_nldev_reply_free(struct kabi_nldev_reply *reply)
{
	free(reply->octets);
	memset(reply, 0, sizeof(*reply));
}

/* @len octets more, zeroed; NULL: no memory, now or before. */
static uint8_t *reply_grow(struct kabi_nldev_reply *reply, size_t len)
{
	size_t size = reply->size ? reply->size : 1024;
	uint8_t *at;

	if (reply->is_cut)
		return NULL;
	while (size - reply->len < len)
		size *= 2;
	if (size > reply->size) {
		at = realloc(reply->octets, size);
		if (!at) {
			reply->is_cut = true;
			return NULL;
		}
		reply->octets = at;
		reply->size = size;
	}
	at = reply->octets + reply->len;
	memset(at, 0, len);
	reply->len += len;
	return at;
}

/* A message begins here; it ends with message_end(). */
static size_t message_begin(struct kabi_nldev_reply *reply, uint32_t portid,
			    const struct kabi_nldev_request *req, uint16_t type,
			    uint16_t flags)
{
	struct nlmsghdr hdr = { .nlmsg_type = type,
				.nlmsg_flags = flags,
				.nlmsg_seq = req->hdr.nlmsg_seq,
				.nlmsg_pid = portid };
	size_t start = reply->len;
	uint8_t *at = reply_grow(reply, NLMSG_HDRLEN);

	if (at)
		memcpy(at, &hdr, sizeof(hdr));
	return start;
}

static void message_end(struct kabi_nldev_reply *reply, size_t start)
{
	uint32_t len = (uint32_t)(reply->len - start);

	if (reply->is_cut) {
		reply->len = start;
		return;
	}
	memcpy(reply->octets + start + offsetof(struct nlmsghdr, nlmsg_len),
	       &len, sizeof(len));
	(void)reply_grow(reply, NLMSG_ALIGN(len) - len);
	if (reply->is_cut)
		reply->len = start;
}

static void put(struct kabi_nldev_reply *reply, uint16_t type,
		const void *payload, size_t len)
{
	struct nlattr attr = { .nla_len = (uint16_t)(sizeof(attr) + len),
			       .nla_type = type };
	uint8_t *at = reply_grow(reply, NLA_ALIGN(attr.nla_len));

	if (!at)
		return;
	memcpy(at, &attr, sizeof(attr));
	memcpy(at + sizeof(attr), payload, len);
}

static void put_u8(struct kabi_nldev_reply *reply, uint16_t type, uint8_t value)
{
	put(reply, type, &value, sizeof(value));
}

static void put_u32(struct kabi_nldev_reply *reply, uint16_t type,
		    uint32_t value)
{
	put(reply, type, &value, sizeof(value));
}

static void put_u64(struct kabi_nldev_reply *reply, uint16_t type,
		    uint64_t value)
{
	put(reply, type, &value, sizeof(value));
}

static void put_text(struct kabi_nldev_reply *reply, uint16_t type,
		     const char *text)
{
	put(reply, type, text, strlen(text) + 1);
}

/* ---- contents of messages ------------------------------------------------ */

static void put_handle(struct kabi_nldev_reply *reply,
		       const struct kabi_nldev_device *dev)
{
	put_u32(reply, RDMA_NLDEV_ATTR_DEV_INDEX, dev->index);
	put_text(reply, RDMA_NLDEV_ATTR_DEV_NAME, dev->attr->name);
}

static void put_device(const struct kabi_nldev *nldev,
		       const struct kabi_nldev_request *req,
		       const struct kabi_nldev_device *dev, uint16_t flags,
		       struct kabi_nldev_reply *reply)
{
	size_t start = message_begin(reply, nldev->portid, req,
				     NLDEV_TYPE(RDMA_NLDEV_CMD_GET), flags);
	bool is_ca = dev->attr->persona == RNIC_PERSONA_CA;
	uint64_t guid = be64toh(dev->attr->guid_be);

	put_handle(reply, dev);
	put_u32(reply, RDMA_NLDEV_ATTR_PORT_INDEX, PORT_NUM);
	put_text(reply, RDMA_NLDEV_ATTR_FW_VERSION, nldev->fw_ver);
	put_u64(reply, RDMA_NLDEV_ATTR_NODE_GUID, guid);
	put_u64(reply, RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, guid);
	put_u8(reply, RDMA_NLDEV_ATTR_DEV_NODE_TYPE,
	       is_ca ? NODE_CA : NODE_RNIC);
	put_text(reply, RDMA_NLDEV_ATTR_DEV_PROTOCOL, is_ca ? "roce" : "iw");
	message_end(reply, start);
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
	size_t start = message_begin(reply, nldev->portid, req,
				     (uint16_t)NLDEV_TYPE(op), flags);

	put_handle(reply, dev);
	put_u32(reply, RDMA_NLDEV_ATTR_PORT_INDEX, PORT_NUM);
	put_u8(reply, RDMA_NLDEV_ATTR_PORT_STATE,
	       attr->is_up ? PORT_ACTIVE : PORT_DOWN);
	put_u8(reply, RDMA_NLDEV_ATTR_PORT_PHYS_STATE,
	       attr->is_up ? PORT_PHYS_LINK_UP : PORT_PHYS_DISABLED);
	if (attr->ifindex) {
		put_u32(reply, RDMA_NLDEV_ATTR_NDEV_INDEX, attr->ifindex);
		put_text(reply, RDMA_NLDEV_ATTR_NDEV_NAME, attr->ifname);
	}
	message_end(reply, start);
}

/* As the kernel's huge_encode_dev(). */
static uint64_t devt_encode(uint32_t major, uint32_t minor)
{
	return (minor & 0xff) | major << 8 | (uint64_t)(minor & ~0xffu) << 12;
}

static void put_chardev(struct kabi_nldev_reply *reply, uint64_t devt,
			uint64_t abi, const char *name)
{
	put_u64(reply, RDMA_NLDEV_ATTR_CHARDEV, devt);
	put_u64(reply, RDMA_NLDEV_ATTR_CHARDEV_ABI, abi);
	put_text(reply, RDMA_NLDEV_ATTR_CHARDEV_NAME, name);
}

static void put_done(const struct kabi_nldev *nldev,
		     const struct kabi_nldev_request *req,
		     struct kabi_nldev_reply *reply)
{
	size_t start = message_begin(reply, nldev->portid, req, NLMSG_DONE,
				     NLM_F_MULTI);

	(void)reply_grow(reply, sizeof(int));
	message_end(reply, start);
}

/* @err: 0 for an ACK. */
static void put_error(const struct kabi_nldev *nldev,
		      const struct kabi_nldev_request *req, int err,
		      struct kabi_nldev_reply *reply)
{
	bool is_quoted = err && !nldev->is_capped;
	size_t start = message_begin(reply, nldev->portid, req, NLMSG_ERROR,
				     is_quoted ? 0 : NLM_F_CAPPED);
	struct nlmsgerr error = { .error = err, .msg = req->hdr };
	size_t more = 0;
	uint8_t *at;

	if (is_quoted && req->msg_len > NLMSG_HDRLEN)
		more = req->msg_len - NLMSG_HDRLEN;
	at = reply_grow(reply, sizeof(error) + more);
	if (at) {
		memcpy(at, &error, sizeof(error));
		if (more)
			memcpy(at + sizeof(error), req->msg + NLMSG_HDRLEN,
			       more);
	}
	message_end(reply, start);
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
	if (!dev || !req->has_port || req->port_index != PORT_NUM)
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
	    (req->has_port && (!dev || req->port_index != PORT_NUM)))
		return -EINVAL;
	if (is_uverbs ? !dev : strcmp(req->type, "rdma_cm") != 0)
		return -EOPNOTSUPP;
	start = message_begin(reply, nldev->portid, req,
			      NLDEV_TYPE(RDMA_NLDEV_CMD_GET_CHARDEV), 0);
	if (is_uverbs) {
		/* No driver of rdma-core must match the device by this ID. */
		put_u32(reply, RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID, 0);
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
	message_end(reply, start);
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
	size_t start = message_begin(reply, nldev->portid, req,
				     NLDEV_TYPE(RDMA_NLDEV_CMD_SYS_GET), 0);

	(void)dev;
	put_u8(reply, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 0);
	put_u8(reply, RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 1);
	message_end(reply, start);
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
	if (req->op == RDMA_NLDEV_CMD_GET && is_dump(req))
		return KABI_NLDEV_BOTH;
	if (req->op == RDMA_NLDEV_CMD_GET_CHARDEV && !req->has_dev &&
	    strcmp(req->type, "rdma_cm") == 0)
		return KABI_NLDEV_OURS;
	return KABI_NLDEV_KERNEL;
}

void kabi_nldev_answer(const struct kabi_nldev *nldev,
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
	uint8_t *at = reply_grow(reply, len);

	if (at) {
		memcpy(at, msg, len);
		memcpy(at + offsetof(struct nlmsghdr, nlmsg_pid),
		       &nldev->portid, sizeof(nldev->portid));
	}
	message_end(reply, start);
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
		(void)dump_get(nldev, req, NULL, reply);
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
			      taken + msg > DATAGRAM_MAX))
			break;
		taken += msg;
		left -= msg;
		if (!(hdr.nlmsg_flags & NLM_F_MULTI))
			break;
	}
	return taken;
}
