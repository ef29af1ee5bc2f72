/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Requests of NETLINK_RDMA's device interface, decoded and checked. */
#include "netlink/request.h"

#include <errno.h>
#include <string.h>

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

/* The attributes of 32 bits; NULL: it is another one. */
static uint32_t *attr_number(struct kabi_nldev_request *req, uint16_t type)
{
	static const uint16_t types[KABI_ARG_CNT] = {
		[KABI_ARG_LQPN] = RDMA_NLDEV_ATTR_RES_LQPN,
		[KABI_ARG_CM_IDN] = RDMA_NLDEV_ATTR_RES_CM_IDN,
		[KABI_ARG_CQN] = RDMA_NLDEV_ATTR_RES_CQN,
		[KABI_ARG_MRN] = RDMA_NLDEV_ATTR_RES_MRN,
		[KABI_ARG_PDN] = RDMA_NLDEV_ATTR_RES_PDN,
		[KABI_ARG_CTXN] = RDMA_NLDEV_ATTR_RES_CTXN,
		[KABI_ARG_SRQN] = RDMA_NLDEV_ATTR_RES_SRQN,
		[KABI_ARG_STAT_RES] = RDMA_NLDEV_ATTR_STAT_RES,
		[KABI_ARG_STAT_MODE] = RDMA_NLDEV_ATTR_STAT_MODE,
		[KABI_ARG_COUNTER_ID] = RDMA_NLDEV_ATTR_STAT_COUNTER_ID,
	};

	switch (type) {
	case RDMA_NLDEV_ATTR_DEV_INDEX:
		req->has_dev = true;
		return &req->dev_index;
	case RDMA_NLDEV_ATTR_PORT_INDEX:
		req->has_port = true;
		return &req->port_index;
	default:
		break;
	}
	for (uint32_t i = 0; i < KABI_ARG_CNT; i++)
		if (types[i] == type) {
			req->args |= 1u << i;
			return &req->arg[i];
		}
	return NULL;
}

/* Return: 0; -EINVAL: an attribute that is needed has the wrong form. */
static int attr_take(struct kabi_nldev_request *req, uint16_t type,
		     const uint8_t *payload, size_t len)
{
	uint32_t *number;

	type &= NLA_TYPE_MASK;
	if (type == RDMA_NLDEV_ATTR_CHARDEV_TYPE) {
		req->has_type = type_copy(payload, len, req->type);
		return req->has_type ? 0 : -EINVAL;
	}
	number = attr_number(req, type);
	if (!number)
		return 0; /* the kernel ignores it, too */
	if (len != sizeof(*number))
		return -EINVAL;
	memcpy(number, payload, len);
	return 0;
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
