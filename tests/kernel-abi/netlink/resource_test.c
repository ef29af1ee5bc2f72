/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Resources as NETLINK_RDMA lists them: the attributes of the kernel. */
#include "world.h"

#include <rdma/rdma_user_cm.h>

/* Process 100 has a server on lo, and process 200 a client; 300 is on eth0. */
WORLD_ROWS(context) = {
	WORLD_ROW(100, 1, 0, (struct usiw_res_context){ .head.id = 1 }),
	WORLD_ROW(200, 1, 0, (struct usiw_res_context){ .head.id = 1 }),
	WORLD_ROW(300, 7, 0, (struct usiw_res_context){ .head.id = 3 }),
};
WORLD_ROWS(pd) = {
	WORLD_ROW(100, 1, 5,
		  (struct usiw_res_pd){ .head.id = 2, .context = 1 }),
};
WORLD_ROWS(cq) = {
	WORLD_ROW(100, 1, 2,
		  (struct usiw_res_cq){ .head.id = 4,
					.context = 1,
					.depth = 255,
					.pushed_idx = 7,
					.polled_idx = 3,
					.armed = USIW_RES_ARMED_ANY }),
};
WORLD_ROWS(srq) = {
	WORLD_ROW(100, 1, 0,
		  (struct usiw_res_srq){ .head.id = 6,
					 .pd = 2,
					 .depth = 31,
					 .limit = 2,
					 .taken_idx = UINT32_MAX,
					 .posted_idx = 3 }),
};
WORLD_ROWS(qp) = {
	WORLD_ROW(100, 1, 0,
		  (struct usiw_res_qp){
			  .head.id = 0x1201,
			  .pd = 2,
			  .send_cq = 4,
			  .recv_cq = 5,
			  .srq = 6,
			  .sq_depth = 16,
			  .peer_num = 0x3401,
			  .state = USIW_RES_QPS_RTS,
			  .carrier = USIW_RES_CARRIER_TCP,
			  .local = { AF_INET, 4791, 0, { 127, 0, 0, 1 } },
			  .peer = { AF_INET6, 99, 0, { [15] = 1 } },
			  .sq_posted_idx = 9,
			  .sq_done_idx = 4,
			  .reads_out = 1,
		  }),
	WORLD_ROW(100, 1, 0,
		  (struct usiw_res_qp){ .head.id = 0x1202, .srq = 6 }),
	WORLD_ROW(100, 1, 0,
		  (struct usiw_res_qp){ .head.id = 0x1205, .srq = 6 }),
	/* the same number as another's SRQ; what is wrong is UNKNOWN */
	WORLD_ROW(200, 1, 0,
		  (struct usiw_res_qp){
			  .head.id = 0x3401,
			  .srq = 6,
			  .type = USIW_RES_QPT_UD,
			  .state = 77,
			  .carrier = 88,
			  .error = 104,
			  .status = USIW_WC_RETRY_EXC_ERR,
		  }),
	WORLD_ROW(300, 7, 0, (struct usiw_res_qp){ .head.id = 0x5501 }),
};
WORLD_ROWS(mr) = {
	WORLD_ROW(100, 1, 0,
		  (struct usiw_res_mr){ .head.id = 0x0123ff,
					.len = 4096,
					.addr = 0x6000,
					.iova = 0x7000,
					.pd = 2,
					.access = 7 }),
	WORLD_ROW(100, 1, 0,
		  (struct usiw_res_mr){ .head.id = 0x0200,
					.type = USIW_RES_MR_WINDOW }),
};
WORLD_ROWS(id) = {
	/* for all addresses */
	WORLD_ROW(100, 0, 0,
		  (struct usiw_res_id){
			  .head.id = 0,
			  .port_space = RDMA_PS_TCP,
			  .state = USIW_RES_IDS_LISTEN,
			  .local = { AF_INET6, 7471, 0, { 0 } } }),
	WORLD_ROW(100, 0, 0, (struct usiw_res_id){ .head.id = 1 }),
	WORLD_ROW(200, 1, 0,
		  (struct usiw_res_id){
			  .head.id = 0,
			  .qp_num = 0x3401,
			  .port_space = RDMA_PS_UDP,
			  .state = USIW_RES_IDS_ESTABLISHED,
			  .local = { AF_INET, 50000, 0, { 192, 0, 2, 1 } },
			  .peer = { AF_INET6, 7471, 3, { 0xfe, 0x80 } } }),
};

#define ROWS(kind) { world_##kind, ARRAY_LEN(world_##kind), 0 }

static const struct kabi_census census = {
	.kind = { [USIW_RES_CONTEXT] = ROWS(context),
		  [USIW_RES_PD] = ROWS(pd),
		  [USIW_RES_CQ] = ROWS(cq),
		  [USIW_RES_SRQ] = ROWS(srq),
		  [USIW_RES_QP] = ROWS(qp),
		  [USIW_RES_MR] = ROWS(mr),
		  [USIW_RES_ID] = ROWS(id) },
};
static const struct kabi_nldev nldev = { .devices = world_devices,
					 .device_cnt = 2,
					 .portid = PORTID,
					 .census = &census };

static void check(struct message msg, const char *expected)
{
	struct kabi_nldev_reply reply = ask(&nldev, msg.octets, msg.len);
	char *text = world_text(&reply);

	assert_string_equal(text, expected);
	free(text);
	kabi_nldev_reply_free(&reply);
}

#define SUMS_LO                                                                \
	"dev=usiw_lo sums{{pd 1 } {cq 1 } {qp 4 } {cm_id 2 } {mr 1 } {ctx 2 }" \
	" {srq 1 } } \n"
#define SUMS_ETH0                                                              \
	"dev=usiw_eth0 sums{{pd 0 } {cq 0 } {qp 1 } {cm_id 1 } {mr 0 } {ctx 1" \
	" } {srq 0 } } \n"

CASE(sums_are_of_one_device_or_of_all)
{
	check(message(RDMA_NLDEV_CMD_RES_GET, NLM_F_REQUEST, 0, -1, NULL),
	      SUMS_LO);
	check(message(RDMA_NLDEV_CMD_RES_GET, DUMP, -1, -1, NULL),
	      SUMS_LO SUMS_ETH0 ".\n");
}

#define PD "users=5 pdn=2 ctxn=1 pid=100 "
#define CQ                                                                     \
	"cqe=255 users=2 cqn=4 ctxn=1 pid=100 "                                \
	"drv{used 4 armed 2 overrun 0 } "
#define SRQ                                                                    \
	"srqn=6 type=0 pdn=2 qps{qp{min=4609 max=4610 } qp{lqpn=4613 } } "     \
	"pid=100 drv{depth 31 used 4 limit 2 } "
#define MR                                                                     \
	"rkey=74751 lkey=74751 mrlen=4096 mrn=291 pdn=2 pid=100 "              \
	"drv{addr print=1 24576 iova print=1 28672 access print=1 7 } "
#define LISTENER "port=1 ps=262 state=8 src=[::%0]:7471 cm-idn=0 pid=100 "
#define CLIENT                                                                 \
	"port=1 lqpn=13313 type=4 ps=273 state=5 src=192.0.2.1:50000 "         \
	"dst=[fe80::%3]:7471 cm-idn=0 pid=200 "
#define QP                                                                     \
	"port=1 lqpn=4609 pdn=2 pid=100 rqpn=13313 rq-psn=0 sq-psn=0 path=0 "  \
	"type=2 state=3 drv{carrier tcp local 127.0.0.1:4791 "                 \
	"peer [::1]:99 send-cqn 4 recv-cqn 5 srqn 6 sq-depth 16 sq-used 5 "    \
	"rq-depth 0 rq-used 0 reads-out 1 reads-in 0 rnr-held 0 status 0 "     \
	"errno 0 } "
#define UNKNOWN_QP                                                             \
	"port=1 lqpn=13313 pdn=0 pid=200 sq-psn=0 type=4 state=255 "           \
	"drv{send-cqn 0 recv-cqn 0 srqn 6 sq-depth 0 sq-used 0 rq-depth 0 "    \
	"rq-used 0 reads-out 0 reads-in 0 rnr-held 0 status 12 errno 104 } "
#define NEW_QP(num, dev_pid, srq)                                              \
	"port=1 lqpn=" num " pdn=0 pid=" dev_pid                               \
	" rqpn=0 rq-psn=0 sq-psn=0 path=0 type=2 state=1 drv{carrier none "    \
	"send-cqn 0 recv-cqn 0 " srq "sq-depth 0 sq-used 0 rq-depth 0 "        \
	"rq-used 0 reads-out 0 reads-in 0 rnr-held 0 status 0 errno 0 } "

CASE(resources_are_listed_by_device)
{
	static const struct {
		uint32_t op;
		int dev;
		const char *expected;
	} cases[] = {
		{ RDMA_NLDEV_CMD_RES_PD_GET, 0,
		  "dev=usiw_lo pds{pd{" PD "} } \n.\n" },
		{ RDMA_NLDEV_CMD_RES_PD_GET, 1, ".\n" },
		{ RDMA_NLDEV_CMD_RES_CQ_GET, 0,
		  "dev=usiw_lo cqs{cq{" CQ "} } \n.\n" },
		{ RDMA_NLDEV_CMD_RES_SRQ_GET, 0,
		  "dev=usiw_lo srqs{srq{" SRQ "} } \n.\n" },
		{ RDMA_NLDEV_CMD_RES_MR_GET, 0,
		  "dev=usiw_lo mrs{mr{" MR "} } \n.\n" },
		{ RDMA_NLDEV_CMD_RES_CTX_GET, 0,
		  "dev=usiw_lo ctxs{ctx{ctxn=1 pid=100 } ctx{ctxn=1 pid=200 }"
		  " } \n.\n" },
		{ RDMA_NLDEV_CMD_RES_CM_ID_GET, 0,
		  "dev=usiw_lo cm_ids{cm_id{" LISTENER "} cm_id{" CLIENT
		  "} } \n.\n" },
		{ RDMA_NLDEV_CMD_RES_CM_ID_GET, 1,
		  "dev=usiw_eth0 cm_ids{cm_id{" LISTENER "} } \n.\n" },
		{ RDMA_NLDEV_CMD_RES_QP_GET, 0,
		  "dev=usiw_lo qps{qp{" QP
		  "} qp{" NEW_QP("4610", "100", "srqn 6 ") "} qp{" NEW_QP(
			  "4613", "100", "srqn 6 ") "} qp{" UNKNOWN_QP
						    "} } \n.\n" },
		{ RDMA_NLDEV_CMD_RES_QP_GET, 1,
		  "dev=usiw_eth0 qps{qp{" NEW_QP("21761", "300",
						 "") "} } \n.\n" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check(message(cases[i].op, DUMP, cases[i].dev, -1, NULL),
		      cases[i].expected);
}

/* The attributes of one are not nested. */
CASE(one_is_found_by_its_number)
{
	static const struct {
		uint32_t op;
		int port;
		uint16_t attr;
		uint32_t number;
		const char *expected;
	} cases[] = {
		{ RDMA_NLDEV_CMD_RES_QP_GET, 1, RDMA_NLDEV_ATTR_RES_LQPN,
		  0x1201, QP },
		{ RDMA_NLDEV_CMD_RES_CQ_GET, -1, RDMA_NLDEV_ATTR_RES_CQN, 4,
		  CQ },
		{ RDMA_NLDEV_CMD_RES_PD_GET, -1, RDMA_NLDEV_ATTR_RES_PDN, 2,
		  PD },
		{ RDMA_NLDEV_CMD_RES_MR_GET, -1, RDMA_NLDEV_ATTR_RES_MRN, 291,
		  MR },
		{ RDMA_NLDEV_CMD_RES_SRQ_GET, -1, RDMA_NLDEV_ATTR_RES_SRQN, 6,
		  SRQ },
	};
	char expected[1024];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct message msg = message(cases[i].op, NLM_F_REQUEST, 0,
					     cases[i].port, NULL);

		message_add(&msg, cases[i].attr, cases[i].number);
		snprintf(expected, sizeof(expected), "dev=usiw_lo %s\n",
			 cases[i].expected);
		check(msg, expected);
	}
}

CASE(refuses_as_the_kernel)
{
	static const struct {
		uint32_t op;
		uint16_t flags;
		int dev, port;
		uint16_t attr;
		uint32_t number;
		int err;
	} cases[] = {
		{ RDMA_NLDEV_CMD_RES_GET, 0, -1, -1, 0, 0, -EINVAL },
		{ RDMA_NLDEV_CMD_RES_GET, 0, 9, -1, 0, 0, -EINVAL },
		{ RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP, -1, -1, 0, 0,
		  -EINVAL },
		{ RDMA_NLDEV_CMD_RES_QP_GET, NLM_F_DUMP, 0, 2, 0, 0, -EINVAL },
		/* without a number; without a port, and with one */
		{ RDMA_NLDEV_CMD_RES_QP_GET, 0, 0, 1, 0, 0, -EINVAL },
		{ RDMA_NLDEV_CMD_RES_QP_GET, 0, 0, -1, RDMA_NLDEV_ATTR_RES_LQPN,
		  0x1201, -EINVAL },
		{ RDMA_NLDEV_CMD_RES_QP_GET, 0, 0, 2, RDMA_NLDEV_ATTR_RES_LQPN,
		  0x1201, -EINVAL },
		{ RDMA_NLDEV_CMD_RES_PD_GET, 0, 0, 1, RDMA_NLDEV_ATTR_RES_PDN,
		  2, -EINVAL },
		/* another device's; a window's; several processes' */
		{ RDMA_NLDEV_CMD_RES_QP_GET, 0, 1, 1, RDMA_NLDEV_ATTR_RES_LQPN,
		  0x1201, -ENOENT },
		{ RDMA_NLDEV_CMD_RES_MR_GET, 0, 0, -1, RDMA_NLDEV_ATTR_RES_MRN,
		  2, -ENOENT },
		{ RDMA_NLDEV_CMD_RES_CTX_GET, 0, 0, -1,
		  RDMA_NLDEV_ATTR_RES_CTXN, 1, -ENOTUNIQ },
		{ RDMA_NLDEV_CMD_RES_CM_ID_GET, 0, 0, 1,
		  RDMA_NLDEV_ATTR_RES_CM_IDN, 0, -ENOTUNIQ },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct message msg = message(cases[i].op,
					     cases[i].flags | NLM_F_REQUEST,
					     cases[i].dev, cases[i].port, NULL);
		struct kabi_nldev_reply reply;

		if (cases[i].attr)
			message_add(&msg, cases[i].attr, cases[i].number);
		reply = ask(&nldev, msg.octets, msg.len);
		error_is(&reply, cases[i].err);
		kabi_nldev_reply_free(&reply);
	}
}

/* The tool reads no more than a page at a time. */
CASE(long_lists_are_several_messages)
{
	enum { MANY = 1000 };
	static struct usiw_res_qp qps[MANY];
	static struct kabi_resource rows[MANY];
	struct kabi_census many = { .kind = { [USIW_RES_QP] = { rows, MANY,
								0 } } };
	struct kabi_nldev who = nldev;
	struct message msg =
		message(RDMA_NLDEV_CMD_RES_QP_GET, DUMP, 0, -1, NULL);
	struct kabi_nldev_reply reply;
	size_t at = 0, len, seen = 0;
	char *text, *next;

	for (uint32_t i = 0; i < MANY; i++) {
		qps[i].head.id = 0x100 + i;
		rows[i] = (struct kabi_resource){ .pid = 1,
						  .ifindex = 1,
						  .slot = &qps[i].head };
	}
	who.census = &many;
	reply = ask(&who, msg.octets, msg.len);
	while ((len = kabi_nldev_datagram(&reply, at))) {
		assert_in_range(len, NLMSG_HDRLEN, 4096);
		at += len;
	}
	assert_int_equal(at, reply.len);
	text = world_text(&reply);
	for (next = text; (next = strstr(next, "lqpn=")); next += 5)
		assert_int_equal(strtoul(next + 5, NULL, 10), 0x100 + seen++);
	assert_int_equal(seen, MANY);
	free(text);
	kabi_nldev_reply_free(&reply);
}

/* An SRQ may have more queue pairs than a message has room for. */
CASE(an_srq_names_as_many_queue_pairs_as_fit)
{
	enum { MANY = 1000 };
	static struct usiw_res_qp qps[MANY];
	static struct kabi_resource rows[MANY];
	struct kabi_census many = census;
	struct kabi_nldev who = nldev;
	struct message msg =
		message(RDMA_NLDEV_CMD_RES_SRQ_GET, DUMP, 0, -1, NULL);
	struct kabi_nldev_reply reply;
	size_t len;

	for (uint32_t i = 0; i < MANY; i++) {
		qps[i].head.id = 0x100 + 2 * i;
		qps[i].srq = 6;
		rows[i] = (struct kabi_resource){ .pid = 100,
						  .ifindex = 1,
						  .slot = &qps[i].head };
	}
	many.kind[USIW_RES_QP] = (struct kabi_resources){ rows, MANY, 0 };
	who.census = &many;
	reply = ask(&who, msg.octets, msg.len);
	len = kabi_nldev_datagram(&reply, 0);
	assert_in_range(len, 1500, 4096);
	kabi_nldev_reply_free(&reply);
}
