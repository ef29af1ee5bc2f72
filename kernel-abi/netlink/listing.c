/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See listing.h. */
#include "netlink/listing.h"

#include <errno.h>

#define SLOT(row, type)                                                        \
	((const struct usiw_res_##type *)(const void *)(row)->slot)

/* ---- rows ---------------------------------------------------------------- */

/* A listener for all addresses is one of every device, as in the kernel, which
 * makes it an identity for each. */
static bool is_everywhere(enum usiw_res_kind kind,
			  const struct kabi_resource *row)
{
	return kind == USIW_RES_ID && !row->ifindex &&
	       SLOT(row, id)->state == USIW_RES_IDS_LISTEN;
}

bool kabi_listing_has(enum usiw_res_kind kind,
		      const struct kabi_nldev_device *dev,
		      const struct kabi_resource *row)
{
	/* The kernel does not list windows. */
	if (kind == USIW_RES_MR && SLOT(row, mr)->type == USIW_RES_MR_WINDOW)
		return false;
	return is_everywhere(kind, row) ||
	       (row->ifindex && row->ifindex == dev->attr->ifindex);
}

uint32_t kabi_listing_number(enum usiw_res_kind kind,
			     const struct kabi_resource *row)
{
	/* The last 8 bits of an STag are a key. */
	return kind == USIW_RES_MR ? row->slot->id >> 8 : row->slot->id;
}

void kabi_listing_put_pid(struct kabi_nldev_reply *reply,
			  const struct kabi_resource *row)
{
	kabi_reply_u32(reply, RDMA_NLDEV_ATTR_RES_PID, row->pid);
}

static bool port_is_bad(const struct kabi_nldev_request *req)
{
	return req->has_port && req->port_index != KABI_PORT_NUM;
}

/* ---- one ----------------------------------------------------------------- */

static int row_find(const struct kabi_listing *listing,
		    const struct kabi_resources *rows,
		    const struct kabi_nldev_device *dev, uint32_t number,
		    const struct kabi_resource **ret_row)
{
	const struct kabi_resource *found = NULL;

	for (size_t i = 0; i < rows->cnt; i++) {
		const struct kabi_resource *row = &rows->row[i];

		if (kabi_listing_number(listing->kind, row) != number ||
		    !kabi_listing_has(listing->kind, dev, row))
			continue;
		if (found)
			return -ENOTUNIQ;
		found = row;
	}
	*ret_row = found;
	return found ? 0 : -ENOENT;
}

int kabi_listing_one(const struct kabi_listing *listing,
		     const struct kabi_nldev *nldev,
		     const struct kabi_nldev_request *req,
		     const struct kabi_nldev_device *dev,
		     struct kabi_nldev_reply *reply)
{
	const struct kabi_resource *row = NULL;
	size_t start;
	int ret;

	if (!dev || !kabi_nldev_has(req, listing->number) || port_is_bad(req) ||
	    req->has_port != listing->is_of_port)
		return -EINVAL;
	ret = row_find(listing, &nldev->census->kind[listing->kind], dev,
		       req->arg[listing->number], &row);
	if (ret < 0)
		return ret;
	start = kabi_reply_begin(reply, nldev, req,
				 KABI_NLDEV_TYPE(listing->op), 0);
	kabi_reply_handle(reply, dev);
	listing->put(reply, nldev, row);
	kabi_reply_end(reply, start);
	return 0;
}

/* ---- all ----------------------------------------------------------------- */

/* A message of the list: as many rows as fit one datagram. */
struct open_message {
	size_t start, table;
};

static struct open_message message_open(const struct kabi_listing *listing,
					const struct kabi_nldev *nldev,
					const struct kabi_nldev_request *req,
					const struct kabi_nldev_device *dev,
					struct kabi_nldev_reply *reply)
{
	struct open_message msg;

	msg.start = kabi_reply_begin(reply, nldev, req,
				     KABI_NLDEV_TYPE(listing->op), NLM_F_MULTI);
	kabi_reply_handle(reply, dev);
	msg.table = kabi_reply_nest(reply, listing->table);
	return msg;
}

static void message_close(struct open_message msg,
			  struct kabi_nldev_reply *reply)
{
	kabi_reply_nested(reply, msg.table);
	kabi_reply_end(reply, msg.start);
}

static void entry_put(const struct kabi_listing *listing,
		      const struct kabi_nldev *nldev,
		      const struct kabi_resource *row,
		      struct kabi_nldev_reply *reply)
{
	size_t entry = kabi_reply_nest(reply, listing->entry);

	listing->put(reply, nldev, row);
	kabi_reply_nested(reply, entry);
}

int kabi_listing_dump(const struct kabi_listing *listing,
		      const struct kabi_nldev *nldev,
		      const struct kabi_nldev_request *req,
		      const struct kabi_nldev_device *dev,
		      struct kabi_nldev_reply *reply)
{
	const struct kabi_resources *rows;
	struct open_message msg = { 0 };
	bool is_open = false;
	size_t before;

	if (!dev || port_is_bad(req))
		return -EINVAL;
	rows = &nldev->census->kind[listing->kind];
	for (size_t i = 0; i < rows->cnt && !reply->is_cut; i++) {
		const struct kabi_resource *row = &rows->row[i];

		if (!kabi_listing_has(listing->kind, dev, row))
			continue;
		if (!is_open)
			msg = message_open(listing, nldev, req, dev, reply);
		is_open = true;
		before = reply->len;
		entry_put(listing, nldev, row, reply);
		if (reply->len - msg.start <= KABI_DATAGRAM_MAX ||
		    reply->is_cut)
			continue;
		/* It is the first of the next message. */
		reply->len = before;
		message_close(msg, reply);
		msg = message_open(listing, nldev, req, dev, reply);
		entry_put(listing, nldev, row, reply);
	}
	if (is_open)
		message_close(msg, reply);
	return 0;
}
