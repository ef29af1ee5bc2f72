/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Replies of NETLINK_RDMA's device interface are put together. */
#include "netlink/reply.h"

#include <stdlib.h>
#include <string.h>

void kabi_nldev_reply_free(struct kabi_nldev_reply *reply)
{
	free(reply->octets);
	memset(reply, 0, sizeof(*reply));
}

uint8_t *kabi_reply_grow(struct kabi_nldev_reply *reply, size_t len)
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

size_t kabi_reply_begin(struct kabi_nldev_reply *reply,
			const struct kabi_nldev *nldev,
			const struct kabi_nldev_request *req, uint16_t type,
			uint16_t flags)
{
	struct nlmsghdr hdr = { .nlmsg_type = type,
				.nlmsg_flags = flags,
				.nlmsg_seq = req->hdr.nlmsg_seq,
				.nlmsg_pid = nldev->portid };
	size_t start = reply->len;
	uint8_t *at = kabi_reply_grow(reply, NLMSG_HDRLEN);

	if (at)
		memcpy(at, &hdr, sizeof(hdr));
	return start;
}

void kabi_reply_end(struct kabi_nldev_reply *reply, size_t start)
{
	uint32_t len = (uint32_t)(reply->len - start);

	if (reply->is_cut) {
		reply->len = start;
		return;
	}
	memcpy(reply->octets + start + offsetof(struct nlmsghdr, nlmsg_len),
	       &len, sizeof(len));
	(void)kabi_reply_grow(reply, NLMSG_ALIGN(len) - len);
	if (reply->is_cut)
		reply->len = start;
}

size_t kabi_reply_nest(struct kabi_nldev_reply *reply, uint16_t type)
{
	struct nlattr attr = { .nla_type = type };
	size_t start = reply->len;
	uint8_t *at = kabi_reply_grow(reply, sizeof(attr));

	if (at)
		memcpy(at, &attr, sizeof(attr));
	return start;
}

void kabi_reply_nested(struct kabi_nldev_reply *reply, size_t start)
{
	uint16_t len = (uint16_t)(reply->len - start);

	if (!reply->is_cut)
		memcpy(reply->octets + start + offsetof(struct nlattr, nla_len),
		       &len, sizeof(len));
}

void kabi_reply_put(struct kabi_nldev_reply *reply, uint16_t type,
		    const void *payload, size_t len)
{
	struct nlattr attr = { .nla_len = (uint16_t)(sizeof(attr) + len),
			       .nla_type = type };
	uint8_t *at = kabi_reply_grow(reply, NLA_ALIGN(attr.nla_len));

	if (!at)
		return;
	memcpy(at, &attr, sizeof(attr));
	memcpy(at + sizeof(attr), payload, len);
}

void kabi_reply_u8(struct kabi_nldev_reply *reply, uint16_t type, uint8_t value)
{
	kabi_reply_put(reply, type, &value, sizeof(value));
}

void kabi_reply_u32(struct kabi_nldev_reply *reply, uint16_t type,
		    uint32_t value)
{
	kabi_reply_put(reply, type, &value, sizeof(value));
}

void kabi_reply_u64(struct kabi_nldev_reply *reply, uint16_t type,
		    uint64_t value)
{
	kabi_reply_put(reply, type, &value, sizeof(value));
}

void kabi_reply_text(struct kabi_nldev_reply *reply, uint16_t type,
		     const char *text)
{
	kabi_reply_put(reply, type, text, strlen(text) + 1);
}

void kabi_reply_handle(struct kabi_nldev_reply *reply,
		       const struct kabi_nldev_device *dev)
{
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_DEV_INDEX, dev->index);
	kabi_reply_text(reply, RDMA_NLDEV_ATTR_DEV_NAME, dev->attr->name);
}
