/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Requests of NETLINK_RDMA, and possible replies of the kernel.
 *
 * The first octet says where the request ends and the kernel's part begins.
 * Every octet must be part of a message. Every refused message must get an
 * error. Replies must consist of complete messages.
 */
#include "fuzz.h"

#include <string.h>

#include "kernel-abi/base/census.h"
#include "kernel-abi/netlink/nldev.h"
#include "rnic/rnic.h"

#define PORTID 77

static const struct rnic_device_attr attrs[] = {
	{ .name = "usiw_lo", .ifname = "lo", .ifindex = 1, .is_up = true },
	{ .name = "usiw_eth0",
	  .ifname = "eth0",
	  .ifindex = 2,
	  .persona = RNIC_PERSONA_CA },
};
static const struct kabi_nldev_device devices[] = {
	{ .attr = &attrs[0], .index = 0 },
	{ .attr = &attrs[1], .index = 1 },
};

/* More queue pairs than a message has room for. */
#define QP_CNT 40

static struct usiw_res_qp qps[QP_CNT];
static struct usiw_res_srq srq = { .head.id = 1, .depth = 8 };
static struct usiw_res_mr mr = { .head.id = 0x100, .len = 4096 };
static struct usiw_res_id id = { .state = USIW_RES_IDS_LISTEN };
static struct kabi_resource qp_rows[QP_CNT];
static struct kabi_resource srq_rows[] = { { 7, 1, 0, &srq.head } };
static struct kabi_resource mr_rows[] = { { 7, 2, 0, &mr.head } };
static struct kabi_resource id_rows[] = { { 7, 0, 0, &id.head } };
static const struct kabi_census census = {
	.kind = { [USIW_RES_QP] = { qp_rows, QP_CNT, 0 },
		  [USIW_RES_SRQ] = { srq_rows, 1, 0 },
		  [USIW_RES_MR] = { mr_rows, 1, 0 },
		  [USIW_RES_ID] = { id_rows, 1, 0 } },
};

static void census_fill(void)
{
	for (uint32_t i = 0; i < QP_CNT; i++) {
		qps[i] = (struct usiw_res_qp){ .head.id = 0x100 + i,
					       .srq = i & 1 };
		qp_rows[i] = (struct kabi_resource){ 7, 1, 0, &qps[i].head };
	}
}

/* Return: number of messages. Checks that each is complete, and that usiw's
 *   have its port. */
static size_t reply_check(const struct kabi_nldev_reply *reply)
{
	struct nlmsghdr hdr;
	size_t at = 0, cnt = 0;

	fuzz_assert(!reply->is_cut);
	fuzz_assert(reply->len <= reply->size);
	for (; at < reply->len; cnt++) {
		fuzz_assert(reply->len - at >= sizeof(hdr));
		memcpy(&hdr, reply->octets + at, sizeof(hdr));
		fuzz_assert(hdr.nlmsg_len >= sizeof(hdr));
		fuzz_assert(hdr.nlmsg_len <= reply->len - at);
		fuzz_assert(hdr.nlmsg_pid == PORTID);
		at += NLMSG_ALIGN(hdr.nlmsg_len);
	}
	fuzz_assert(at == reply->len);
	return cnt;
}

static void datagrams_check(const struct kabi_nldev_reply *reply)
{
	size_t at = 0, len;

	while ((len = kabi_nldev_datagram(reply, at)) > 0)
		at += len;
	fuzz_assert(at == reply->len);
}

static void one(const struct kabi_nldev *nldev,
		const struct kabi_nldev_request *req, const uint8_t *real,
		size_t real_len)
{
	struct kabi_nldev_reply reply = { 0 };
	struct nlmsghdr hdr;
	size_t cnt;

	kabi_nldev_answer(nldev, req, &reply);
	cnt = reply_check(&reply);
	datagrams_check(&reply);
	if (req->err < 0) {
		fuzz_assert(cnt == 1);
		memcpy(&hdr, reply.octets, sizeof(hdr));
		fuzz_assert(hdr.nlmsg_type == NLMSG_ERROR);
	} else if (!req->is_quiet) {
		fuzz_assert(cnt >= 1);
	}
	kabi_nldev_reply_free(&reply);
	if (kabi_nldev_owner(nldev, req) == KABI_NLDEV_OURS)
		return;
	(void)kabi_nldev_is_last(real, real_len);
	kabi_nldev_merge(nldev, req, real, real_len, &reply);
	reply_check(&reply);
	datagrams_check(&reply);
	kabi_nldev_reply_free(&reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kabi_nldev nldev = { .devices = devices,
				    .device_cnt = 2,
				    .fw_ver = "1",
				    .portid = PORTID,
				    .census = &census };
	struct kabi_nldev_request req;
	size_t len, step;

	uint8_t *request, *real;

	if (size < 1)
		return 0;
	census_fill();
	nldev.is_capped = data[0] & 1;
	len = data[0] < size - 1 ? data[0] : size - 1;
	/* separate allocations, so that a sanitizer sees both ends */
	request = malloc(len ? len : 1);
	real = malloc(size - len);
	fuzz_assert(request && real);
	memcpy(request, data + 1, len);
	memcpy(real, data + 1 + len, size - 1 - len);
	for (size_t at = 0; at < len; at += step) {
		step = kabi_nldev_decode(request + at, len - at, &req);
		fuzz_assert(step >= 1 && step <= len - at);
		one(&nldev, &req, real, size - 1 - len);
	}
	free(request);
	free(real);
	return 0;
}
