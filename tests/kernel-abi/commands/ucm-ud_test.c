/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Identities for datagrams, in the words of the rdma_cm file.  One file asks,
 * the other one answers.
 */
#include "ucm-fixture.h"

#include <errno.h>
#include <rdma/ib_user_verbs.h>
#include <stdlib.h>

/* Numbers of <infiniband/verbs.h>. */
enum { QP_STATE = 1, QP_PKEY_INDEX = 16, QP_PORT = 32, QP_QKEY = 64 };
enum { QPS_RESET, QPS_INIT, QPS_RTR, QPS_RTS, QPS_SQD };

static const uint8_t lo[16] = { [10] = 0xff, 0xff, 127, 0, 0, 1 };

static uint32_t create(struct ucm *u, uint16_t ps)
{
	struct rdma_ucm_create_id cmd = { .uid = 0xc001,
					  .response = answer_of(u),
					  .ps = ps };
	struct rdma_ucm_create_id_resp resp;

	assert_true(SEND(u, CREATE_ID, cmd, sizeof(resp)) > 0);
	memcpy(&resp, u->answer, sizeof(resp));
	return resp.id;
}

static struct rdma_ucm_query_addr_resp query(struct ucm *u, uint32_t id,
					     uint32_t option)
{
	struct rdma_ucm_query cmd = { .response = answer_of(u),
				      .id = id,
				      .option = option };
	struct rdma_ucm_query_addr_resp resp;

	assert_true(SEND(u, QUERY, cmd, sizeof(resp)) > 0);
	memcpy(&resp, u->answer, sizeof(resp));
	return resp;
}

/* Return: its port. */
static uint16_t do_listen(struct ucm *u, uint32_t id)
{
	struct sockaddr_in sin = loopback(0);
	struct rdma_ucm_bind bind = { .id = id, .addr_size = sizeof(sin) };
	struct rdma_ucm_listen cmd = { .id = id };
	struct rdma_ucm_query_addr_resp addr;

	memcpy(&bind.addr, &sin, sizeof(sin));
	assert_true(SEND(u, BIND, bind, 0) > 0);
	assert_true(SEND(u, LISTEN, cmd, 0) > 0);
	addr = query(u, id, RDMA_USER_CM_QUERY_ADDR);
	memcpy(&sin, &addr.src_addr, sizeof(sin));
	return ntohs(sin.sin_port);
}

static struct rdma_ucm_event_resp expect(struct ucm *u, uint32_t type)
{
	struct rdma_ucm_event_resp ev = ucm_event(u);

	assert_int_equal(ev.event, type);
	return ev;
}

static void do_connect(struct ucm *u, uint32_t id, uint16_t port)
{
	struct sockaddr_in dst = loopback(port);
	struct rdma_ucm_resolve_ip ip = { .id = id, .timeout_ms = 1000 };
	struct rdma_ucm_resolve_route route = { .id = id, .timeout_ms = 1000 };
	struct rdma_ucm_connect cmd = { .id = id };

	memcpy(&ip.dst_addr, &dst, sizeof(dst));
	assert_true(SEND(u, RESOLVE_IP, ip, 0) > 0);
	expect(u, RNIC_CM_ADDR_RESOLVED);
	assert_true(SEND(u, RESOLVE_ROUTE, route, 0) > 0);
	expect(u, RNIC_CM_ROUTE_RESOLVED);
	cmd.conn_param.valid = 1;
	cmd.conn_param.private_data_len = 3;
	memcpy(cmd.conn_param.private_data, "ask", 3);
	assert_true(SEND(u, CONNECT, cmd, 0) > 0);
}

struct both {
	struct ucm server, client;
	uint32_t listener, asker, child;
};

/* Up to the request, as librdmacm sees it. */
static void ask(struct both *b)
{
	struct rdma_ucm_event_resp ev;

	ucm_open(&b->server);
	ucm_open(&b->client);
	b->listener = create(&b->server, RDMA_PS_UDP);
	b->asker = create(&b->client, RDMA_PS_UDP);
	do_connect(&b->client, b->asker, do_listen(&b->server, b->listener));
	ev = expect(&b->server, RNIC_CM_CONNECT_REQUEST);
	assert_int_equal(ev.uid, 0xc001);
	assert_int_equal(ev.param.ud.private_data_len, 180);
	assert_memory_equal(ev.param.ud.private_data, "ask\0", 4);
	assert_int_equal(ev.param.ud.qp_num, 0);
	b->child = ev.id;
}

static void end(struct both *b)
{
	ucm_close(&b->client);
	ucm_close(&b->server);
}

CASE(the_answer_has_qp_key_and_address)
{
	struct rdma_ucm_accept accept = { .uid = 0xbeef };
	struct rdma_ucm_event_resp ev;
	struct both b;

	ask(&b);
	accept.id = b.child;
	accept.conn_param.valid = 1;
	accept.conn_param.qp_num = 0x4711;
	accept.conn_param.private_data_len = 2;
	memcpy(accept.conn_param.private_data, "ok", 2);
	assert_true(SEND(&b.server, ACCEPT, accept, 0) > 0);
	ev = expect(&b.client, RNIC_CM_ESTABLISHED);
	assert_int_equal(ev.uid, 0xc001);
	assert_int_equal(ev.param.ud.qp_num, 0x4711);
	assert_int_equal(ev.param.ud.qkey, 0x01234567);
	assert_int_equal(ev.param.ud.private_data_len, 136);
	assert_memory_equal(ev.param.ud.private_data, "ok\0", 3);
	assert_memory_equal(ev.param.ud.ah_attr.grh.dgid, lo, 16);
	assert_int_equal(ev.param.ud.ah_attr.grh.sgid_index, 0);
	assert_int_equal(ev.param.ud.ah_attr.is_global, 1);
	assert_int_equal(ev.param.ud.ah_attr.port_num, 1);
	assert_true(ev.param.ud.ah_attr.grh.hop_limit > 1);
	end(&b);
}

CASE(a_rejection_has_its_status)
{
	struct rdma_ucm_reject reject = { .private_data_len = 2 };
	struct rdma_ucm_event_resp ev;
	struct both b;

	ask(&b);
	reject.id = b.child;
	memcpy(reject.private_data, "no", 2);
	assert_true(SEND(&b.server, REJECT, reject, 0) > 0);
	ev = expect(&b.client, RNIC_CM_UNREACHABLE);
	assert_int_equal(ev.status, 2);
	assert_memory_equal(ev.param.ud.private_data, "no\0", 3);
	assert_int_equal(ev.param.ud.ah_attr.is_global, 0);
	end(&b);
}

/* librdmacm moves a QP by the answer for INIT, and by itself then. */
CASE(a_qp_gets_the_key_of_rdma_cm)
{
	struct rdma_ucm_init_qp_attr cmd = { .qp_state = QPS_INIT };
	struct ib_uverbs_qp_attr attr;
	struct ucm *u;
	struct both b;

	ask(&b);
	u = &b.client;
	cmd.response = answer_of(u);
	cmd.id = b.asker;
	for (cmd.qp_state = QPS_INIT; cmd.qp_state <= QPS_RTS; cmd.qp_state++) {
		assert_true(SEND(u, INIT_QP_ATTR, cmd, sizeof(attr)) > 0);
		memcpy(&attr, u->answer, sizeof(attr));
		assert_int_equal(attr.qp_attr_mask,
				 QP_STATE | QP_PKEY_INDEX | QP_PORT | QP_QKEY);
		assert_int_equal(attr.qp_state, cmd.qp_state);
		assert_int_equal(attr.qkey, 0x01234567);
		assert_int_equal(attr.pkey_index, 0);
		assert_int_equal(attr.port_num, 1);
	}
	assert_int_equal(SEND(u, INIT_QP_ATTR, cmd, sizeof(attr)), -EINVAL);
	cmd.qp_state = QPS_RESET;
	assert_int_equal(SEND(u, INIT_QP_ATTR, cmd, sizeof(attr)), -EINVAL);
	cmd.id = create(u, RDMA_PS_UDP); /* without a device */
	cmd.qp_state = QPS_INIT;
	assert_int_equal(SEND(u, INIT_QP_ATTR, cmd, sizeof(attr)), -EINVAL);
	end(&b);
}

/* The port space is in the service ID, at its offset in sockaddr_ib. */
CASE(the_service_id_has_the_port_space)
{
	static const uint16_t spaces[] = { RDMA_PS_UDP, RDMA_PS_IPOIB };

	for (size_t i = 0; i < ARRAY_LEN(spaces); i++) {
		struct rdma_ucm_query_addr_resp addr;
		uint8_t want[8] = { 0 };
		struct ucm u;
		uint32_t id;
		uint16_t port;

		ucm_open(&u);
		id = create(&u, spaces[i]);
		port = do_listen(&u, id);
		want[4] = (uint8_t)(spaces[i] >> 8);
		want[5] = (uint8_t)spaces[i];
		want[6] = (uint8_t)(port >> 8);
		want[7] = (uint8_t)port;
		addr = query(&u, id, RDMA_USER_CM_QUERY_GID);
		assert_memory_equal((uint8_t *)&addr.src_addr + 24, want, 8);
		ucm_close(&u);
	}
}

/* ---- multicast ---- */

static const uint8_t mgid[16] = { [10] = 0xff, 0xff, 239, 1, 2, 3 };

static struct rdma_ucm_join_mcast join_of(struct ucm *u, uint32_t id)
{
	struct sockaddr_in group = { .sin_family = AF_INET };
	struct rdma_ucm_join_mcast join = { .response = answer_of(u),
					    .uid = 0x9009,
					    .id = id,
					    .addr_size = sizeof(group) };

	inet_pton(AF_INET, "239.1.2.3", &group.sin_addr);
	memcpy(&join.addr, &group, sizeof(group));
	return join;
}

static uint32_t bound(struct ucm *u)
{
	struct sockaddr_in sin = loopback(0);
	uint32_t id = create(u, RDMA_PS_UDP);
	struct rdma_ucm_bind bind = { .id = id, .addr_size = sizeof(sin) };

	memcpy(&bind.addr, &sin, sizeof(sin));
	assert_true(SEND(u, BIND, bind, 0) > 0);
	return id;
}

static uint32_t number(const struct ucm *u)
{
	struct rdma_ucm_create_id_resp resp;

	memcpy(&resp, u->answer, sizeof(resp));
	return resp.id;
}

static void expect_join(struct ucm *u, uint32_t num)
{
	struct rdma_ucm_event_resp ev = expect(u, RNIC_CM_MULTICAST_JOIN);

	assert_int_equal(ev.uid, 0x9009);
	assert_int_equal(ev.id, num);
	assert_int_equal(ev.status, 0);
	assert_int_equal(ev.param.ud.qp_num, 0xffffff);
	assert_int_equal(ev.param.ud.qkey, 0x01234567);
	assert_memory_equal(ev.param.ud.ah_attr.grh.dgid, mgid, 16);
	assert_int_equal(ev.param.ud.ah_attr.is_global, 1);
	assert_int_equal(ev.param.ud.private_data_len, 0);
}

static void leave(struct ucm *u, uint32_t num, int events)
{
	struct rdma_ucm_destroy_id cmd = { .response = answer_of(u),
					   .id = num };
	struct rdma_ucm_destroy_id_resp resp;

	assert_true(SEND(u, LEAVE_MCAST, cmd, sizeof(resp)) > 0);
	memcpy(&resp, u->answer, sizeof(resp));
	assert_int_equal(resp.events_reported, events);
	assert_int_equal(SEND(u, LEAVE_MCAST, cmd, sizeof(resp)), -ENOENT);
}

CASE(a_group_is_joined_and_left)
{
	struct rdma_ucm_join_ip_mcast join_ip = { 0 };
	struct rdma_ucm_join_mcast join;
	struct rdma_ucm_destroy_id destroy = { 0 };
	struct rdma_ucm_destroy_id_resp resp;
	uint32_t id, first;
	struct ucm u;

	ucm_open(&u);
	id = bound(&u);
	join = join_of(&u, id);
	assert_true(SEND(&u, JOIN_MCAST, join, 4) > 0);
	first = number(&u);
	expect_join(&u, first);
	join_ip.response = answer_of(&u);
	join_ip.uid = 0x9009;
	join_ip.id = id;
	memcpy(&join_ip.addr, &join.addr, sizeof(join_ip.addr));
	assert_true(SEND(&u, JOIN_IP_MCAST, join_ip, 4) > 0);
	assert_int_not_equal(number(&u), first);
	leave(&u, number(&u), 0); /* with its event */
	leave(&u, first, 1);
	/* What was told of groups does not count for the identity. */
	destroy.id = id;
	destroy.response = answer_of(&u);
	assert_true(SEND(&u, DESTROY_ID, destroy, 4) > 0);
	memcpy(&resp, u.answer, sizeof(resp));
	assert_int_equal(resp.events_reported, 0);
	ucm_close(&u);
}

CASE(a_sender_joins_as_well)
{
	struct rdma_ucm_join_mcast join;
	struct ucm u;

	ucm_open(&u);
	join = join_of(&u, bound(&u));
	join.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
	assert_true(SEND(&u, JOIN_MCAST, join, 4) > 0);
	expect_join(&u, number(&u));
	join.join_flags++;
	assert_int_equal(SEND(&u, JOIN_MCAST, join, 4), -EINVAL);
	ucm_close(&u);
}

/* The identity goes, and its groups with it. */
CASE(a_group_ends_with_its_identity)
{
	struct rdma_ucm_destroy_id cmd = { 0 };
	struct rdma_ucm_join_mcast join;
	struct ucm u;
	uint32_t num;

	ucm_open(&u);
	join = join_of(&u, bound(&u));
	assert_true(SEND(&u, JOIN_MCAST, join, 4) > 0);
	num = number(&u);
	cmd.id = join.id;
	cmd.response = answer_of(&u);
	assert_true(SEND(&u, DESTROY_ID, cmd, 4) > 0);
	cmd.id = num;
	assert_int_equal(SEND(&u, LEAVE_MCAST, cmd, 4), -ENOENT);
	ucm_close(&u);
}

static void join_is(struct ucm *u, struct rdma_ucm_join_mcast *join,
		    ssize_t want)
{
	assert_int_equal(SEND(u, JOIN_MCAST, *join, 4), want);
}

CASE(what_is_no_group_is_refused)
{
	struct sockaddr_in6 group6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in none = loopback(0);
	struct rdma_ucm_join_mcast join;
	struct ucm u;

	ucm_open(&u);
	join = join_of(&u, bound(&u));
	join.addr_size--;
	join_is(&u, &join, -EINVAL);
	join.addr_size = sizeof(struct sockaddr_in6);
	join_is(&u, &join, -EINVAL);
	inet_pton(AF_INET6, "ff0e::1", &group6.sin6_addr);
	memcpy(&join.addr, &group6, sizeof(group6));
	join_is(&u, &join, -EINVAL); /* of another family */
	join = join_of(&u, join.id);
	memcpy(&join.addr, &none, sizeof(none));
	join_is(&u, &join, -EINVAL);
	join = join_of(&u, join.id + 1);
	join_is(&u, &join, -ENOENT);
	join = join_of(&u, create(&u, RDMA_PS_UDP)); /* without a device */
	join_is(&u, &join, -EINVAL);
	join = join_of(&u, bound(&u));
	join.response = 8; /* no memory: nothing is joined */
	join_is(&u, &join, -EFAULT);
	ucm_close(&u);
}

BEFORE_CASES()
{
	/* Before the settings are read for the first time. */
	setenv("USIW_PERSONA", "ca", 1);
}
