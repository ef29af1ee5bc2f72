/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Two devices and the resources of two processes, and replies about them as
 * text. */
#ifndef TEST_WORLD_H
#define TEST_WORLD_H

#include "messages.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel-abi/base/census.h"

/* ---- resources ---- */

#define WORLD_ROWS(kind) static struct kabi_resource world_##kind[]
#define WORLD_ROW(pid_, ifindex_, users_, ...)                                 \
	{ .pid = (pid_),                                                       \
	  .ifindex = (ifindex_),                                               \
	  .user_cnt = (users_),                                                \
	  .slot = &(__VA_ARGS__).head }

static const struct rnic_device_attr world_attrs[] = {
	{ .name = "usiw_lo", .ifname = "lo", .ifindex = 1, .is_up = true },
	{ .name = "usiw_eth0", .ifname = "eth0", .ifindex = 7, .is_up = true },
};
static const struct kabi_nldev_device world_devices[] = {
	{ .attr = &world_attrs[0],
	  .index = 0,
	  .stats = { .tx_fpdu = 11,
		     .rx_fpdu = 12,
		     .rx_crc_bad = 13,
		     .rx_direct = 14,
		     .rx_staged = 15,
		     .tx_inplace = 16,
		     .tx_copied = 17 } },
	{ .attr = &world_attrs[1], .index = 1 },
};

/* ---- replies ---- */

struct world_form {
	uint16_t type;
	const char *name;
	char form; /* n: number; s: text; a: address; {: attributes */
};

static const struct world_form world_forms[] = {
	{ RDMA_NLDEV_ATTR_DEV_INDEX, NULL, 'n' },
	{ RDMA_NLDEV_ATTR_DEV_NAME, "dev", 's' },
	{ RDMA_NLDEV_ATTR_PORT_INDEX, "port", 'n' },
	{ RDMA_NLDEV_ATTR_RES_SUMMARY, "sums", '{' },
	{ RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY, "", '{' },
	{ RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, "", 's' },
	{ RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, "", 'n' },
	{ RDMA_NLDEV_ATTR_RES_QP, "qps", '{' },
	{ RDMA_NLDEV_ATTR_RES_QP_ENTRY, "qp", '{' },
	{ RDMA_NLDEV_ATTR_RES_LQPN, "lqpn", 'n' },
	{ RDMA_NLDEV_ATTR_RES_RQPN, "rqpn", 'n' },
	{ RDMA_NLDEV_ATTR_RES_RQ_PSN, "rq-psn", 'n' },
	{ RDMA_NLDEV_ATTR_RES_SQ_PSN, "sq-psn", 'n' },
	{ RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE, "path", 'n' },
	{ RDMA_NLDEV_ATTR_RES_TYPE, "type", 'n' },
	{ RDMA_NLDEV_ATTR_RES_STATE, "state", 'n' },
	{ RDMA_NLDEV_ATTR_RES_PID, "pid", 'n' },
	{ RDMA_NLDEV_ATTR_RES_CM_ID, "cm_ids", '{' },
	{ RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY, "cm_id", '{' },
	{ RDMA_NLDEV_ATTR_RES_CM_IDN, "cm-idn", 'n' },
	{ RDMA_NLDEV_ATTR_RES_PS, "ps", 'n' },
	{ RDMA_NLDEV_ATTR_RES_SRC_ADDR, "src", 'a' },
	{ RDMA_NLDEV_ATTR_RES_DST_ADDR, "dst", 'a' },
	{ RDMA_NLDEV_ATTR_RES_CQ, "cqs", '{' },
	{ RDMA_NLDEV_ATTR_RES_CQ_ENTRY, "cq", '{' },
	{ RDMA_NLDEV_ATTR_RES_CQE, "cqe", 'n' },
	{ RDMA_NLDEV_ATTR_RES_CQN, "cqn", 'n' },
	{ RDMA_NLDEV_ATTR_RES_USECNT, "users", 'n' },
	{ RDMA_NLDEV_ATTR_RES_MR, "mrs", '{' },
	{ RDMA_NLDEV_ATTR_RES_MR_ENTRY, "mr", '{' },
	{ RDMA_NLDEV_ATTR_RES_RKEY, "rkey", 'n' },
	{ RDMA_NLDEV_ATTR_RES_LKEY, "lkey", 'n' },
	{ RDMA_NLDEV_ATTR_RES_MRLEN, "mrlen", 'n' },
	{ RDMA_NLDEV_ATTR_RES_MRN, "mrn", 'n' },
	{ RDMA_NLDEV_ATTR_RES_PD, "pds", '{' },
	{ RDMA_NLDEV_ATTR_RES_PD_ENTRY, "pd", '{' },
	{ RDMA_NLDEV_ATTR_RES_PDN, "pdn", 'n' },
	{ RDMA_NLDEV_ATTR_RES_CTX, "ctxs", '{' },
	{ RDMA_NLDEV_ATTR_RES_CTX_ENTRY, "ctx", '{' },
	{ RDMA_NLDEV_ATTR_RES_CTXN, "ctxn", 'n' },
	{ RDMA_NLDEV_ATTR_RES_SRQ, "srqs", '{' },
	{ RDMA_NLDEV_ATTR_RES_SRQ_ENTRY, "srq", '{' },
	{ RDMA_NLDEV_ATTR_RES_SRQN, "srqn", 'n' },
	{ RDMA_NLDEV_ATTR_MIN_RANGE, "min", 'n' },
	{ RDMA_NLDEV_ATTR_MAX_RANGE, "max", 'n' },
	{ RDMA_NLDEV_ATTR_DRIVER, "drv", '{' },
	{ RDMA_NLDEV_ATTR_DRIVER_STRING, "", 's' },
	{ RDMA_NLDEV_ATTR_DRIVER_PRINT_TYPE, "print", 'n' },
	{ RDMA_NLDEV_ATTR_DRIVER_U32, "", 'n' },
	{ RDMA_NLDEV_ATTR_DRIVER_U64, "", 'n' },
	{ RDMA_NLDEV_ATTR_STAT_COUNTER, "counters", '{' },
	{ RDMA_NLDEV_ATTR_STAT_COUNTER_ENTRY, "counter", '{' },
	{ RDMA_NLDEV_ATTR_STAT_COUNTER_ID, "cntn", 'n' },
	{ RDMA_NLDEV_ATTR_STAT_MODE, "mode", 'n' },
	{ RDMA_NLDEV_ATTR_STAT_HWCOUNTERS, "hw", '{' },
	{ RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY, "", '{' },
	{ RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, "", 's' },
	{ RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, "", 'n' },
};

static inline const struct world_form *world_form(uint16_t type)
{
	for (size_t i = 0; i < ARRAY_LEN(world_forms); i++)
		if (world_forms[i].type == type)
			return &world_forms[i];
	fail_msg("attribute %u is not expected", type);
	return NULL;
}

static inline void world_print_addr(FILE *out, const uint8_t *at, size_t len)
{
	struct sockaddr_storage addr;
	char text[INET6_ADDRSTRLEN];
	struct sockaddr_in6 *sin6 = (void *)&addr;
	struct sockaddr_in *sin = (void *)&addr;

	assert_int_equal(len, sizeof(addr));
	memcpy(&addr, at, len);
	if (addr.ss_family == AF_INET)
		fprintf(out, "%s:%u",
			inet_ntop(AF_INET, &sin->sin_addr, text, sizeof(text)),
			ntohs(sin->sin_port));
	else
		fprintf(out, "[%s%%%u]:%u",
			inet_ntop(AF_INET6, &sin6->sin6_addr, text,
				  sizeof(text)),
			sin6->sin6_scope_id, ntohs(sin6->sin6_port));
}

static inline void world_print(FILE *out, const uint8_t *at, size_t left)
{
	const struct world_form *form;
	struct nlattr attr;
	uint64_t number;
	size_t len;

	for (; left;
	     at += NLA_ALIGN(attr.nla_len), left -= NLA_ALIGN(attr.nla_len)) {
		const uint8_t *payload = at + sizeof(attr);

		assert_true(left >= sizeof(attr));
		memcpy(&attr, at, sizeof(attr));
		assert_in_range(attr.nla_len, sizeof(attr), left);
		assert_in_range(NLA_ALIGN(attr.nla_len), sizeof(attr), left);
		len = attr.nla_len - sizeof(attr);
		form = world_form(attr.nla_type);
		if (!form->name)
			continue;
		fprintf(out, "%s%s", form->name,
			*form->name && form->form != '{' ? "=" : "");
		number = 0;
		switch (form->form) {
		case 'n':
			assert_in_range(len, 1, sizeof(number));
			memcpy(&number, payload, len);
			fprintf(out, "%" PRIu64, number);
			break;
		case 's':
			assert_int_equal(payload[len - 1], 0);
			fprintf(out, "%s", (const char *)payload);
			break;
		case 'a':
			world_print_addr(out, payload, len);
			break;
		default:
			fprintf(out, "{");
			world_print(out, payload, len);
			fprintf(out, "}");
			break;
		}
		fprintf(out, " ");
	}
}

/* All messages of a reply, one a line; "." is the end of a list.  Freed by the
 * caller. */
static inline char *world_text(const struct kabi_nldev_reply *reply)
{
	struct nlmsghdr hdr;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	for (size_t at = 0; at < reply->len; at += NLMSG_ALIGN(hdr.nlmsg_len)) {
		hdr = header_at(reply, at);
		if (hdr.nlmsg_type == NLMSG_DONE)
			fprintf(out, ".");
		else
			world_print(out, reply->octets + at + NLMSG_HDRLEN,
				    hdr.nlmsg_len - NLMSG_HDRLEN);
		fprintf(out, "\n");
	}
	fclose(out);
	return text;
}

#endif
