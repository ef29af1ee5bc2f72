/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Counters as NETLINK_RDMA lists them: the attributes of the kernel. */
#include "world.h"

WORLD_ROWS(qp) = {
	WORLD_ROW(100, 1, 0,
		  (struct usiw_res_qp){
			  .head.id = 0x1201,
			  .tx = { .messages = { 1, 2, 3, 4 },
				  .octets = { 5, 6, 7 } },
			  .rx = { .messages = { 8, 9, 10, 11 },
				  .octets = { 12, 13, 14 } },
			  .rnr_cnt = 15,
		  }),
};
static const struct kabi_census census = {
	.kind = { [USIW_RES_QP] = { world_qp, 1, 0 } },
};
static const struct kabi_nldev nldev = { .devices = world_devices,
					 .device_cnt = 2,
					 .portid = PORTID,
					 .census = &census };

/* 0: without the attribute */
static struct message request(uint16_t flags, int port, uint32_t res,
			      uint32_t mode, uint32_t counter)
{
	struct message msg = message(RDMA_NLDEV_CMD_STAT_GET,
				     NLM_F_REQUEST | flags, 0, port, NULL);

	if (res)
		message_add(&msg, RDMA_NLDEV_ATTR_STAT_RES, res);
	if (mode)
		message_add(&msg, RDMA_NLDEV_ATTR_STAT_MODE, mode);
	if (counter)
		message_add(&msg, RDMA_NLDEV_ATTR_STAT_COUNTER_ID, counter);
	return msg;
}

#define QP                                                                     \
	"port=1 cntn=4609 pid=100 mode=2 qps{qp{lqpn=4609 } } "                \
	"hw{{tx_send_requests 1 } {tx_write_requests 2 } "                     \
	"{tx_read_requests 3 } {tx_atomic_requests 4 } {tx_send_octets 5 } "   \
	"{tx_write_octets 6 } {tx_read_octets 7 } {rx_send_requests 8 } "      \
	"{rx_write_requests 9 } {rx_read_requests 10 } "                       \
	"{rx_atomic_requests 11 } {rx_send_octets 12 } "                       \
	"{rx_write_octets 13 } {rx_read_octets 14 } {recv_held 15 } } "

CASE(counters_are_of_a_port_or_of_queue_pairs)
{
	const struct {
		struct message msg;
		const char *expected;
	} cases[] = {
		{ request(0, 1, 0, 0, 0),
		  "dev=usiw_lo port=1 hw{{sent_pkts 11 } {rcvd_pkts 12 } "
		  "{rx_crc_bad 13 } {rx_direct 14 } {rx_staged 15 } "
		  "{tx_inplace 16 } {tx_copied 17 } } \n" },
		{ request(0, 1, RDMA_NLDEV_ATTR_RES_QP,
			  RDMA_COUNTER_MODE_MANUAL, 0),
		  "dev=usiw_lo port=1 mode=2 \n" },
		{ request(0, 1, RDMA_NLDEV_ATTR_RES_QP, 0, 0x1201),
		  "dev=usiw_lo " QP "\n" },
		{ request(NLM_F_DUMP, 1, RDMA_NLDEV_ATTR_RES_QP, 0, 0),
		  "dev=usiw_lo counters{counter{" QP "} } \n.\n" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct kabi_nldev_reply reply =
			ask(&nldev, cases[i].msg.octets, cases[i].msg.len);
		char *text = world_text(&reply);

		assert_string_equal(text, cases[i].expected);
		free(text);
		kabi_nldev_reply_free(&reply);
	}
}

CASE(refuses_what_is_not_counted)
{
	const struct {
		struct message msg;
		int err;
	} cases[] = {
		{ request(0, -1, 0, 0, 0), -EINVAL },
		{ request(0, 2, 0, 0, 0), -EINVAL },
		{ request(0, 1, RDMA_NLDEV_ATTR_RES_QP, 0, 0), -EINVAL },
		{ request(0, 1, RDMA_NLDEV_ATTR_RES_QP, 0, 77), -ENOENT },
		{ request(0, 1, RDMA_NLDEV_ATTR_RES_MR, 0, 0), -EOPNOTSUPP },
		{ request(NLM_F_DUMP, 1, 0, 0, 0), -EINVAL },
		{ request(NLM_F_DUMP, 1, RDMA_NLDEV_ATTR_RES_MR, 0, 0),
		  -EOPNOTSUPP },
		{ message(RDMA_NLDEV_CMD_STAT_GET, NLM_F_REQUEST, 9, 1, NULL),
		  -EINVAL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct kabi_nldev_reply reply =
			ask(&nldev, cases[i].msg.octets, cases[i].msg.len);

		error_is(&reply, cases[i].err);
		kabi_nldev_reply_free(&reply);
	}
}
