/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Commands of the rdma_cm file, as librdmacm writes them, and invalid ones. */
#include "test.h"

#include "rnic/fault/rules.h"
#include "rnic/os/guard.h"
#include "util/env.h"
#include "ucm-fixture.h"
#include "wrap-syscall.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Beyond the address space of any process. */
#define BAD_POINTER 0xdead000000000000u

/* ---- lengths ---- */

/* Newer than the header in use. */
enum { CMD_RESOLVE_IB_SERVICE = 23, CMD_WRITE_CM_EVENT = 24 };

static const struct {
	uint32_t nr;
	size_t in, out;
	int too_small; /* result if the buffer is too small for the answer */
} lengths[] = {
	{ RDMA_USER_CM_CMD_CREATE_ID, sizeof(struct rdma_ucm_create_id), 4,
	  -ENOSPC },
	{ RDMA_USER_CM_CMD_DESTROY_ID, sizeof(struct rdma_ucm_destroy_id), 4,
	  -ENOSPC },
	{ RDMA_USER_CM_CMD_BIND_IP, 40, 0, 0 },
	{ RDMA_USER_CM_CMD_RESOLVE_IP, sizeof(struct rdma_ucm_resolve_ip), 0,
	  0 },
	{ RDMA_USER_CM_CMD_RESOLVE_ROUTE, sizeof(struct rdma_ucm_resolve_route),
	  0, 0 },
	{ RDMA_USER_CM_CMD_QUERY_ROUTE, sizeof(struct rdma_ucm_query),
	  offsetof(struct rdma_ucm_query_route_resp, ibdev_index), -ENOSPC },
	{ RDMA_USER_CM_CMD_CONNECT, offsetof(struct rdma_ucm_connect, ece), 0,
	  0 },
	{ RDMA_USER_CM_CMD_LISTEN, sizeof(struct rdma_ucm_listen), 0, 0 },
	{ RDMA_USER_CM_CMD_ACCEPT, offsetof(struct rdma_ucm_accept, ece), 0,
	  0 },
	{ RDMA_USER_CM_CMD_REJECT, sizeof(struct rdma_ucm_reject), 0, 0 },
	{ RDMA_USER_CM_CMD_DISCONNECT, sizeof(struct rdma_ucm_disconnect), 0,
	  0 },
	{ RDMA_USER_CM_CMD_INIT_QP_ATTR, sizeof(struct rdma_ucm_init_qp_attr),
	  sizeof(struct ib_uverbs_qp_attr), -ENOSPC },
	{ RDMA_USER_CM_CMD_GET_EVENT, sizeof(struct rdma_ucm_get_event), 324,
	  -ENOSPC },
	{ RDMA_USER_CM_CMD_SET_OPTION, sizeof(struct rdma_ucm_set_option), 0,
	  0 },
	{ RDMA_USER_CM_CMD_NOTIFY, sizeof(struct rdma_ucm_notify), 0, 0 },
	{ RDMA_USER_CM_CMD_JOIN_IP_MCAST, 48, 4, -ENOSPC },
	{ RDMA_USER_CM_CMD_LEAVE_MCAST, sizeof(struct rdma_ucm_destroy_id), 4,
	  -ENOSPC },
	{ RDMA_USER_CM_CMD_MIGRATE_ID, sizeof(struct rdma_ucm_migrate_id), 4,
	  -ENOSPC },
	{ RDMA_USER_CM_CMD_QUERY, sizeof(struct rdma_ucm_query), 0, 0 },
	{ RDMA_USER_CM_CMD_BIND, sizeof(struct rdma_ucm_bind), 0, 0 },
	{ RDMA_USER_CM_CMD_RESOLVE_ADDR, sizeof(struct rdma_ucm_resolve_addr),
	  0, 0 },
	{ RDMA_USER_CM_CMD_JOIN_MCAST, sizeof(struct rdma_ucm_join_mcast), 4,
	  -ENOSPC },
	{ CMD_RESOLVE_IB_SERVICE, 8, 0, 0 },
	{ CMD_WRITE_CM_EVENT, 24, 0, 0 },
};

static void short_commands_are_refused(void **state)
{
	const uint8_t zeros[512] = { 0 };
	struct ucm *u = *state;

	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		for (size_t in = 0; in < lengths[i].in; in++)
			assert_int_equal(ucm_send(u, lengths[i].nr, zeros, in,
						  ANSWER_SIZE),
					 -EINVAL);
		if (lengths[i].out)
			assert_int_equal(ucm_send(u, lengths[i].nr, zeros,
						  lengths[i].in,
						  lengths[i].out - 1),
					 lengths[i].too_small);
	}
}

static void header_must_fit_what_was_written(void **state)
{
	struct rdma_ucm_cmd_hdr hdr = { .cmd = RDMA_USER_CM_CMD_NOTIFY,
					.in = sizeof(struct rdma_ucm_notify) };
	struct ucm *u = *state;

	for (size_t len = 0; len <= sizeof(hdr); len++)
		assert_int_equal(kabi_ucm_write(u->object, &hdr, len), -EINVAL);
	assert_int_equal(ucm_send(u, CMD_WRITE_CM_EVENT + 1, &hdr, 8, 0),
			 -EINVAL);
	assert_int_equal(ucm_send(u, UINT32_MAX, &hdr, 8, 0), -EINVAL);
	assert_int_equal(ucm_send(u, RDMA_USER_CM_CMD_GET_OPTION, &hdr, 8, 0),
			 -ENOSYS);
}

static void unknown_ids_are_not_found(void **state)
{
	uint8_t cmd[512];
	struct ucm *u = *state;

	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		struct sockaddr_in addr = loopback(9);
		ssize_t ret;

		memset(cmd, 0xff, sizeof(cmd));
		switch (lengths[i].nr) {
		case RDMA_USER_CM_CMD_CREATE_ID:
		case RDMA_USER_CM_CMD_GET_EVENT:
		case RDMA_USER_CM_CMD_JOIN_IP_MCAST:
		case RDMA_USER_CM_CMD_LEAVE_MCAST:
		case RDMA_USER_CM_CMD_JOIN_MCAST:
		case CMD_WRITE_CM_EVENT: /* has its own test */
		case RDMA_USER_CM_CMD_BIND:
		case RDMA_USER_CM_CMD_RESOLVE_ADDR:
			continue; /* has no id, or is refused earlier */
		case RDMA_USER_CM_CMD_BIND_IP:
			memcpy(cmd + 8, &addr, sizeof(addr));
			break;
		case RDMA_USER_CM_CMD_RESOLVE_IP:
			memcpy(cmd, &addr, sizeof(addr));
			memcpy(cmd + 28, &addr, sizeof(addr));
			break;
		case RDMA_USER_CM_CMD_REJECT:
			cmd[5] = 0; /* reason */
			break;
		case RDMA_USER_CM_CMD_MIGRATE_ID:
			memcpy(cmd + 12, &u->fd, 4);
			break;
		}
		ret = ucm_send(u, lengths[i].nr, cmd, lengths[i].in,
			       ANSWER_SIZE);
		assert_int_equal(ret, -ENOENT);
	}
}

/* ---- pointers ---- */

static const uint64_t bad_pointers[] = { 0, 8, BAD_POINTER, UINT64_MAX };

static void bad_pointers_cost_an_errno(void **state)
{
	struct ucm *u = *state;
	uint32_t id;

	id = ucm_create(u);
	for (size_t i = 0; i < 4; i++) {
		uint64_t bad = bad_pointers[i];
		struct rdma_ucm_create_id create = { .response = bad,
						     .ps = RDMA_PS_TCP };
		struct rdma_ucm_query query = { .response = bad, .id = id };
		struct rdma_ucm_get_event get = { .response = bad };
		struct rdma_ucm_set_option opt = { .optval = bad,
						   .id = id,
						   .optlen = 1,
						   .optname =
							   RDMA_OPTION_ID_TOS };

		assert_int_equal(SEND(u, CREATE_ID, create, 4), -EFAULT);
		assert_int_equal(SEND(u, QUERY_ROUTE, query, ANSWER_SIZE),
				 -EFAULT);
		assert_int_equal(SEND(u, QUERY, query, ANSWER_SIZE), -EFAULT);
		assert_int_equal(SEND(u, GET_EVENT, get, ANSWER_SIZE), -EFAULT);
		assert_int_equal(SEND(u, SET_OPTION, opt, 0), -EFAULT);
		assert_int_equal(
			kabi_ucm_write(u->object, (void *)(uintptr_t)bad, 64),
			-EFAULT);
	}
}

/* The last octet of the answer is on a page that is not mapped. */
static void answer_beyond_mapped_memory_is_efault(void **state)
{
	struct ucm u;
	uint8_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rdma_ucm_query query = { 0 };

	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(munmap(page + 4096, 4096), 0);
	ucm_open(&u);
	query.id = ucm_create(&u);
	query.response = (uintptr_t)page + 4096 -
			 sizeof(struct rdma_ucm_query_route_resp) + 1;
	assert_int_equal(SEND(&u, QUERY_ROUTE, query, ANSWER_SIZE), -EFAULT);
	query.response -= 1;
	assert_int_equal(SEND(&u, QUERY_ROUTE, query, ANSWER_SIZE),
			 sizeof(query) + 8);
	ucm_close(&u);
	munmap(page, 4096);
}

static void a_bad_pointer_costs_no_event(void **state)
{
	struct rdma_ucm_get_event get = { .response = BAD_POINTER };
	struct rdma_ucm_event_resp ev;
	struct ucm *u = *state;

	assert_true(ucm_resolve(u, ucm_create(u)) > 0);
	assert_int_equal(SEND(u, GET_EVENT, get, ANSWER_SIZE), -EFAULT);
	ev = ucm_event(u);
	assert_int_equal(ev.event, RNIC_CM_ADDR_RESOLVED);
}

/* ---- answers ---- */

static void port_spaces_depend_on_the_persona(void **state)
{
	static const uint16_t ps[] = { RDMA_PS_UDP, RDMA_PS_IPOIB };
	struct rdma_ucm_create_id cmd = { .ps = 0x1234 };
	struct ucm *u = *state;

	cmd.response = answer_of(u);
	assert_int_equal(SEND(u, CREATE_ID, cmd, 4), -EINVAL);
	cmd.ps = RDMA_PS_IB;
	assert_int_equal(SEND(u, CREATE_ID, cmd, 4), -EOPNOTSUPP);
	for (size_t i = 0; i < ARRAY_LEN(ps); i++) {
		ssize_t ret;

		cmd.ps = ps[i];
		ret = SEND(u, CREATE_ID, cmd, 4);
		if (util_settings()->persona == UTIL_PERSONA_CA)
			assert_true(ret > 0);
		else
			assert_int_equal(ret, -EOPNOTSUPP);
	}
}

static void resolved_id_tells_its_route(void **state)
{
	struct rdma_ucm_query_route_resp route;
	struct rdma_ucm_query_addr_resp addr;
	struct rdma_ucm_query query = { 0 };
	struct rdma_ucm_event_resp ev;
	struct sockaddr_in sin;
	struct ucm *u = *state;

	query.id = ucm_create(u);
	query.response = answer_of(u);
	assert_true(SEND(u, QUERY_ROUTE, query, sizeof(route)) > 0);
	memcpy(&route, u->answer, sizeof(route));
	assert_int_equal(route.node_guid, 0);
	assert_int_equal(route.port_num, 0);

	assert_true(ucm_resolve(u, query.id) > 0);
	ev = ucm_event(u);
	assert_int_equal(ev.event, RNIC_CM_ADDR_RESOLVED);
	assert_int_equal(ev.uid, 0xc001);
	assert_int_equal(ev.id, query.id);
	assert_int_equal(ev.status, 0);

	assert_true(SEND(u, QUERY_ROUTE, query, sizeof(route)) > 0);
	memcpy(&route, u->answer, sizeof(route));
	assert_int_not_equal(route.node_guid, 0);
	assert_non_null(rnic_device_by_guid(route.node_guid));
	assert_int_equal(route.port_num, 1);
	assert_int_equal(route.num_paths, 0);
	memcpy(&sin, &route.dst_addr, sizeof(sin));
	assert_int_equal(sin.sin_family, AF_INET);
	assert_int_equal(ntohs(sin.sin_port), 9);
	assert_memory_equal(route.ib_route[0].dgid + 12, &sin.sin_addr, 4);

	query.option = RDMA_USER_CM_QUERY_ADDR;
	assert_true(SEND(u, QUERY, query, sizeof(addr)) > 0);
	memcpy(&addr, u->answer, sizeof(addr));
	assert_int_equal(addr.node_guid, route.node_guid);
	assert_int_equal(addr.dst_size, sizeof(sin));
	assert_memory_equal(&addr.dst_addr, &sin, sizeof(sin));
	query.option = RDMA_USER_CM_QUERY_GID;
	assert_true(SEND(u, QUERY, query, sizeof(addr)) > 0);
	query.option = RDMA_USER_CM_QUERY_PATH;
	assert_true(SEND(u, QUERY, query, ANSWER_SIZE) > 0);
	query.option = 99;
	assert_int_equal(SEND(u, QUERY, query, ANSWER_SIZE), -ENOSYS);
}

/* An older librdmacm has a smaller buffer for the answer, and gets only that
 * part. */
static void answers_stop_at_the_place_given(void **state)
{
	const size_t small =
		offsetof(struct rdma_ucm_query_route_resp, ibdev_index);
	struct rdma_ucm_query query = { 0 };
	struct rdma_ucm_get_event get = { 0 };
	struct ucm *u = *state;

	query.id = ucm_create(u);
	query.response = answer_of(u);
	memset(u->answer, 0xee, sizeof(u->answer));
	assert_true(SEND(u, QUERY_ROUTE, query, small) > 0);
	assert_int_not_equal(u->answer[small - 1], 0xee);
	assert_int_equal(u->answer[small], 0xee);

	assert_true(ucm_resolve(u, query.id) > 0);
	get.response = answer_of(u);
	memset(u->answer, 0xee, sizeof(u->answer));
	assert_true(SEND(u, GET_EVENT, get, 324) > 0);
	assert_int_not_equal(u->answer[323], 0xee);
	assert_int_equal(u->answer[324], 0xee);
}

static bool is_ca; /* set by USIW_PERSONA: the test runs with both */

/* ---- a connection ---- */

struct side {
	struct ucm u;
	uint32_t id;
	struct rnic_context *ctx;
	struct rnic_pd *pd;
	struct rnic_cq *cq;
	struct rnic_qp *qp;
};

static void side_open(struct side *s)
{
	struct rnic_qp_options opt = { .max_send_wr = 4,
				       .max_recv_wr = 4,
				       .max_send_sge = 1,
				       .max_recv_sge = 1 };
	struct sockaddr_in lo = loopback(0);

	ucm_open(&s->u);
	assert_int_equal(
		rnic_context_open(rnic_device_by_addr((struct sockaddr *)&lo),
				  &s->ctx),
		0);
	assert_int_equal(rnic_pd_alloc(s->ctx, &s->pd), 0);
	assert_int_equal(rnic_cq_create(s->ctx, 16, NULL, 0, NULL, &s->cq), 0);
	opt.send_cq = opt.recv_cq = s->cq;
	assert_int_equal(rnic_qp_create(s->pd, &opt, &s->qp), 0);
}

static void side_close(struct side *s)
{
	uint32_t a, b;

	ucm_close(&s->u);
	assert_int_equal(rnic_qp_destroy(s->qp, &a), 0);
	assert_int_equal(rnic_cq_destroy(s->cq, &a, &b), 0);
	assert_int_equal(rnic_pd_free(s->pd), 0);
	rnic_context_close(s->ctx);
}

static struct rdma_ucm_conn_param side_param(const struct side *s)
{
	return (struct rdma_ucm_conn_param){ .qp_num = rnic_qp_num(s->qp),
					     .responder_resources = 4,
					     .initiator_depth = 3,
					     .valid = 1 };
}

/* Return: the port. */
static uint16_t side_listen(struct side *s)
{
	struct rdma_ucm_bind_ip bind = { 0 };
	struct rdma_ucm_listen listen = { .backlog = 4 };
	struct rdma_ucm_query query = { .response = answer_of(&s->u) };
	struct rdma_ucm_query_route_resp route;
	struct sockaddr_in addr = loopback(0);

	bind.id = listen.id = query.id = ucm_create(&s->u);
	memcpy(&bind.addr, &addr, sizeof(addr));
	assert_true(SEND(&s->u, BIND_IP, bind, 0) > 0);
	assert_true(SEND(&s->u, LISTEN, listen, 0) > 0);
	assert_true(SEND(&s->u, QUERY_ROUTE, query, sizeof(route)) > 0);
	memcpy(&route, s->u.answer, sizeof(route));
	memcpy(&addr, &route.src_addr, sizeof(addr));
	return ntohs(addr.sin_port);
}

static ssize_t side_qp_attr(struct side *s, uint32_t qp_state,
			    struct ib_uverbs_qp_attr *ret_attr)
{
	struct rdma_ucm_init_qp_attr cmd = { .id = s->id,
					     .qp_state = qp_state,
					     .response = answer_of(&s->u) };
	ssize_t ret = SEND(&s->u, INIT_QP_ATTR, cmd, sizeof(*ret_attr));

	memcpy(ret_attr, s->u.answer, sizeof(*ret_attr));
	return ret;
}

/* @is_made: the application lets rdma_create_qp() make its QP. */
static void side_connect(struct side *s, uint16_t port, bool is_made)
{
	struct sockaddr_in dst = loopback(port);
	struct rdma_ucm_resolve_ip resolve = { .timeout_ms = 1000 };
	struct rdma_ucm_resolve_route route = { .timeout_ms = 1000 };
	struct rdma_ucm_connect connect = { .conn_param = side_param(s) };
	struct ib_uverbs_qp_attr attr;

	s->id = resolve.id = route.id = connect.id = ucm_create(&s->u);
	memcpy(&resolve.dst_addr, &dst, sizeof(dst));
	assert_true(SEND(&s->u, RESOLVE_IP, resolve, 0) > 0);
	assert_int_equal(ucm_event(&s->u).event, RNIC_CM_ADDR_RESOLVED);
	assert_true(SEND(&s->u, RESOLVE_ROUTE, route, 0) > 0);
	assert_int_equal(ucm_event(&s->u).event, RNIC_CM_ROUTE_RESOLVED);
	if (is_made)
		assert_true(side_qp_attr(s, 1, &attr) > 0);
	assert_true(SEND(&s->u, CONNECT, connect, 0) > 0);
}

static ssize_t side_ready(struct side *s)
{
	struct rdma_ucm_accept cmd = { .id = s->id };

	return SEND(&s->u, ACCEPT, cmd, 0);
}

/* IBV_EVENT_*. Of a QP's events, only COMM_EST concerns InfiniBand's connection
 * manager. */
static ssize_t side_notify(struct side *s, uint32_t event)
{
	struct rdma_ucm_notify cmd = { .id = s->id, .event = event };

	return SEND(&s->u, NOTIFY, cmd, 0);
}

static void side_check_notify(struct side *s, int comm_est)
{
	for (uint32_t event = 0; event < 19; event++) {
		int want = event == 4 ? comm_est : -EINVAL;
		ssize_t ret = side_notify(s, event);

		assert_int_equal(ret < 0 ? ret : 0, is_ca ? want : 0);
	}
}

/* Bits of enum ibv_qp_attr_mask. */
#define INIT_MASK_CA (1 << 0 | 1 << 3 | 1 << 4 | 1 << 5)
#define RTR_MASK_CA                                                            \
	(1 << 0 | 1 << 7 | 1 << 8 | 1 << 12 | 1 << 15 | 1 << 17 | 1 << 20)
#define RTS_MASK_CA (1 << 0 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 13 | 1 << 16)

/* The attributes with which librdmacm moves the QP, on both sides. */
static void side_check_qp_attr(struct side *s, uint8_t ird, uint8_t ord)
{
	static const uint8_t lo[16] = { [10] = 0xff, 0xff, 127, 0, 0, 1 };
	struct ib_uverbs_qp_attr attr;

	assert_true(side_qp_attr(s, 1, &attr) > 0);
	assert_int_equal(attr.qp_attr_mask, INIT_MASK_CA);
	assert_int_equal(attr.qp_access_flags, 2 | 4 | 8);
	assert_int_equal(attr.pkey_index, 0);
	assert_int_equal(attr.port_num, 1);
	assert_true(side_qp_attr(s, 2, &attr) > 0);
	assert_int_equal(attr.qp_attr_mask, RTR_MASK_CA);
	assert_true(attr.dest_qp_num > 1);
	assert_true(rnic_qp_num_is_cm(attr.dest_qp_num));
	assert_int_equal(attr.ah_attr.is_global, 1);
	assert_int_equal(attr.ah_attr.port_num, 1);
	assert_int_equal(attr.ah_attr.grh.sgid_index, 0);
	assert_memory_equal(attr.ah_attr.grh.dgid, lo, 16);
	assert_int_equal(attr.max_dest_rd_atomic, ird);
	assert_true(attr.path_mtu >= 1 && attr.path_mtu <= 5);
	assert_true(side_qp_attr(s, 3, &attr) > 0);
	assert_int_equal(attr.qp_attr_mask, RTS_MASK_CA);
	assert_int_equal(attr.max_rd_atomic, ord);
	assert_int_equal(side_qp_attr(s, 6, &attr), -EINVAL);
}

/*
 * The steps of librdmacm. With persona ca, and if the application moves its QP
 * itself, the connecting side gets a response, moves its QP, and writes ACCEPT
 * without parameters. With persona ca the other side has its event only then.
 */
static void connection_takes_the_steps(bool is_made)
{
	bool has_response = is_ca || !is_made;
	struct rdma_ucm_accept accept = { .uid = 0xacce };
	struct rdma_ucm_event_resp ev;
	struct ib_uverbs_qp_attr attr;
	struct side a, b;
	struct pollfd pfd;

	side_open(&a);
	side_open(&b);
	side_connect(&a, side_listen(&b), is_made);
	assert_int_equal(side_ready(&a), -EINVAL);
	ev = ucm_event(&b.u);
	assert_int_equal(ev.event, RNIC_CM_CONNECT_REQUEST);
	assert_int_equal(ev.param.conn.qp_num != 0, is_ca);
	b.id = accept.id = ev.id;
	side_check_notify(&a, -EINVAL);
	if (is_ca) {
		assert_int_equal(side_qp_attr(&a, 2, &attr), -EINVAL);
		side_check_qp_attr(&b, 3, 4);
	}
	assert_int_equal(side_ready(&b), -EINVAL);
	accept.conn_param = side_param(&b);
	assert_true(SEND(&b.u, ACCEPT, accept, 0) > 0);
	ev = ucm_event(&a.u);
	assert_int_equal(ev.event, has_response ? RNIC_CM_CONNECT_RESPONSE
						: RNIC_CM_ESTABLISHED);
	assert_int_equal(ev.param.conn.qp_num != 0, is_ca);
	if (is_ca) {
		pfd = (struct pollfd){ .fd = b.u.fd, .events = POLLIN };
		assert_int_equal(poll(&pfd, 1, 50), 0);
		side_check_notify(&b, 0);
		side_check_qp_attr(&a, 4, 3);
	}
	if (has_response) {
		assert_int_equal(rnic_qp_state(a.qp), RNIC_QPS_IDLE);
		assert_true(side_ready(&a) > 0);
	}
	assert_int_equal(side_ready(&a),
			 -EINVAL); /* not twice, and not without */
	ev = ucm_event(&b.u);
	assert_int_equal(ev.event, RNIC_CM_ESTABLISHED);
	assert_int_equal(ev.uid, 0xacce);
	side_check_notify(&a, -EISCONN);
	side_check_notify(&b, -EISCONN);
	assert_int_equal(rnic_qp_state(a.qp), RNIC_QPS_RTS);
	assert_int_equal(rnic_qp_state(b.qp), RNIC_QPS_RTS);
	side_close(&a);
	side_close(&b);
}

static void a_connection_takes_the_steps_of_its_persona(void **state)
{
	connection_takes_the_steps(true);
}

static void an_application_that_moves_its_qp_is_waited_for(void **state)
{
	connection_takes_the_steps(false);
}

static void qp_attributes_are_those_of_a_rnic(void **state)
{
	struct rdma_ucm_init_qp_attr cmd = { 0 };
	struct rdma_ucm_notify notify = { .event = 4 };
	struct ib_uverbs_qp_attr attr;
	struct ucm *u = *state;

	notify.id = cmd.id = ucm_create(u);
	assert_int_equal(SEND(u, NOTIFY, notify, 0), -EINVAL);
	cmd.response = answer_of(u);
	cmd.qp_state = 1;
	assert_int_equal(SEND(u, INIT_QP_ATTR, cmd, sizeof(attr)), -EINVAL);
	assert_true(ucm_resolve(u, cmd.id) > 0);
	for (cmd.qp_state = 1; cmd.qp_state <= 2; cmd.qp_state++) {
		assert_true(SEND(u, INIT_QP_ATTR, cmd, sizeof(attr)) > 0);
		memcpy(&attr, u->answer, sizeof(attr));
		assert_int_equal(attr.qp_attr_mask, 1 << 0 | 1 << 3);
		assert_int_equal(attr.qp_access_flags, 2 | 4 | 8);
		assert_int_equal(attr.qp_state, cmd.qp_state);
	}
	assert_true(SEND(u, INIT_QP_ATTR, cmd, sizeof(attr)) > 0);
	memcpy(&attr, u->answer, sizeof(attr));
	assert_int_equal(attr.qp_attr_mask, 0);
	cmd.qp_state = 6;
	assert_int_equal(SEND(u, INIT_QP_ATTR, cmd, sizeof(attr)), -EINVAL);
}

static ssize_t set_option(struct ucm *u, uint32_t id, uint32_t level,
			  uint32_t name, int value, uint32_t len)
{
	struct rdma_ucm_set_option cmd = { .optval = (uintptr_t)&value,
					   .id = id,
					   .level = level,
					   .optname = name,
					   .optlen = len };

	return SEND(u, SET_OPTION, cmd, 0);
}

static void options_want_their_size(void **state)
{
	struct ucm *u = *state;
	uint32_t id;

	id = ucm_create(u);
	for (uint32_t len = 0; len < 10; len++) {
		assert_int_equal(
			set_option(u, id, 0, RDMA_OPTION_ID_TOS, 8, len) > 0,
			len == 1);
		assert_int_equal(set_option(u, id, 0,
					    RDMA_OPTION_ID_ACK_TIMEOUT, 8,
					    len) > 0,
				 len == 1);
		assert_int_equal(set_option(u, id, 0, RDMA_OPTION_ID_REUSEADDR,
					    1, len) > 0,
				 len == 4);
		assert_int_equal(
			set_option(u, id, 0, RDMA_OPTION_ID_AFONLY, 1, len) > 0,
			len == 4);
	}
	assert_int_equal(set_option(u, id, 0, 99, 1, 4), -ENOSYS);
	assert_int_equal(
		set_option(u, id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, 1, 4),
		-ENOSYS);
	assert_int_equal(set_option(u, id, 7, 0, 1, 1), -ENOSYS);
}

static void addresses_want_their_size(void **state)
{
	struct rdma_ucm_bind cmd = { .addr_size = sizeof(struct sockaddr_in) };
	struct rdma_ucm_resolve_addr res = { .dst_size = 16 };
	struct sockaddr_in sin = loopback(0);
	struct ucm *u = *state;

	cmd.id = res.id = ucm_create(u);
	/* AF_IB, as in librdmacm's probe */
	cmd.addr.ss_family = 27;
	cmd.addr_size = 48;
	assert_int_equal(SEND(u, BIND, cmd, 0), -EINVAL);
	memcpy(&cmd.addr, &sin, sizeof(sin));
	for (uint16_t size = 0; size < 64; size++) {
		cmd.addr_size = size;
		cmd.reserved = 1;
		assert_int_equal(SEND(u, BIND, cmd, 0), -EINVAL);
		cmd.reserved = 0;
		if (size != sizeof(sin))
			assert_int_equal(SEND(u, BIND, cmd, 0), -EINVAL);
	}
	memcpy(&res.dst_addr, &sin, sizeof(sin));
	res.src_size = 28; /* of an AF_INET address */
	memcpy(&res.src_addr, &sin, sizeof(sin));
	assert_int_equal(SEND(u, RESOLVE_ADDR, res, 0), -EINVAL);
	cmd.addr_size = sizeof(sin);
	assert_true(SEND(u, BIND, cmd, 0) > 0);
	assert_int_equal(SEND(u, BIND, cmd, 0), -EINVAL); /* bound already */
}

/* A connection has none; persona rnic has no datagrams at all. */
static void multicast_of_a_connection_is_refused(void **state)
{
	struct rdma_ucm_join_mcast join = { 0 };
	struct rdma_ucm_join_ip_mcast join_ip = { 0 };
	struct rdma_ucm_destroy_id leave = { 0 };
	struct ucm *u = *state;

	join.id = join_ip.id = ucm_create(u);
	assert_int_equal(SEND(u, JOIN_MCAST, join, 4),
			 is_ca ? -EINVAL : -EOPNOTSUPP);
	assert_int_equal(SEND(u, JOIN_IP_MCAST, join_ip, 4),
			 is_ca ? -EINVAL : -EOPNOTSUPP);
	assert_int_equal(SEND(u, LEAVE_MCAST, leave, 4),
			 is_ca ? -ENOENT : -EOPNOTSUPP);
}

/* Only events that no connection causes. */
static void own_events_are_of_two_kinds(void **state)
{
	struct {
		uint32_t id, reserved, event, status;
		uint64_t arg;
	} cmd = { .event = RNIC_CM_ESTABLISHED };
	struct ucm *u = *state;

	cmd.id = ucm_create(u);
	assert_int_equal(ucm_send(u, CMD_WRITE_CM_EVENT, &cmd, sizeof(cmd), 0),
			 -EINVAL);
	cmd.event = RNIC_CM_USER;
	assert_true(ucm_send(u, CMD_WRITE_CM_EVENT, &cmd, sizeof(cmd), 0) > 0);
	cmd.id++;
	assert_int_equal(ucm_send(u, CMD_WRITE_CM_EVENT, &cmd, sizeof(cmd), 0),
			 -ENOENT);
}

static void migration_names_the_old_file(void **state)
{
	struct rdma_ucm_migrate_id cmd = { 0 };
	struct rdma_ucm_event_resp ev;
	struct ucm u, v;

	ucm_open(&u);
	ucm_open(&v);
	cmd.id = ucm_create(&u);
	cmd.response = answer_of(&v);
	assert_true(ucm_resolve(&u, cmd.id) > 0);
	cmd.fd = 1000000;
	assert_int_equal(SEND(&v, MIGRATE_ID, cmd, 4), -ENOENT);
	cmd.fd = 0;
	assert_int_equal(SEND(&v, MIGRATE_ID, cmd, 4), -EINVAL);
	cmd.fd = (__u32)u.fd;
	assert_true(SEND(&v, MIGRATE_ID, cmd, 4) > 0);
	ucm_close(&u);
	ev = ucm_event(&v);
	assert_int_equal(ev.event, RNIC_CM_ADDR_RESOLVED);
	assert_int_equal(ev.id, cmd.id);
	ucm_close(&v);
}

static void destroy_counts_what_was_fetched(void **state)
{
	struct rdma_ucm_destroy_id_resp resp;
	struct rdma_ucm_destroy_id cmd = { 0 };
	struct rdma_ucm_get_event get = { 0 };
	struct ucm *u = *state;

	cmd.id = ucm_create(u);
	cmd.response = get.response = answer_of(u);
	assert_int_equal(SEND(u, GET_EVENT, get, ANSWER_SIZE), -EAGAIN);
	assert_true(ucm_resolve(u, cmd.id) > 0);
	ucm_event(u);
	assert_true(SEND(u, DESTROY_ID, cmd, sizeof(resp)) > 0);
	memcpy(&resp, u->answer, sizeof(resp));
	assert_int_equal(resp.events_reported, 1);
	assert_int_equal(SEND(u, DESTROY_ID, cmd, sizeof(resp)), -ENOENT);
}

static void open_obeys_its_flags(void **state)
{
	int fd = kabi_ucm_open(O_RDWR);
	struct ucm u = { .fd = fd };

	assert_true(fd >= 0);
	assert_false(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_false(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	u.object = ucm_object(fd);
	ucm_close(&u);
	ucm_open(&u);
	assert_true(fcntl(u.fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(u.fd, F_GETFD) & FD_CLOEXEC);
	ucm_close(&u);
}

/* A sandbox that forbids process_vm_*: a pipe is used instead. */
static _Atomic bool is_sandboxed; /* the manager's thread reads it too */
static int sandbox_cnt;		  /* number of refused calls */

static int syscall_error(long nr, long first_arg)
{
	if (!is_sandboxed ||
	    (nr != SYS_process_vm_readv && nr != SYS_process_vm_writev))
		return 0;
	sandbox_cnt++;
	return EPERM;
}

static void a_sandbox_changes_nothing(void **state)
{
	is_sandboxed = true;
	bad_pointers_cost_an_errno(state);
	answer_beyond_mapped_memory_is_efault(state);
	a_bad_pointer_costs_no_event(state);
	resolved_id_tells_its_route(state);
	assert_true(sandbox_cnt > 0);
	sandbox_cnt = 0;
	is_sandboxed = false;
}

/* A program that has registered memory, so its faults are caught. */
static void a_guard_changes_nothing(void **state)
{
	assert_int_equal(rnic_guard_install(), 0);
	/* Neither call is needed any more. */
	is_sandboxed = true;
	bad_pointers_cost_an_errno(state);
	answer_beyond_mapped_memory_is_efault(state);
	a_bad_pointer_costs_no_event(state);
	resolved_id_tells_its_route(state);
	assert_int_equal(sandbox_cnt, 0);
	is_sandboxed = false;
}

/* ---- faults on command ---- */

static const struct {
	uint32_t nr;
	const char *rule;
} failing[] = {
	{ RDMA_USER_CM_CMD_CREATE_ID, "verb=rdma_create_id,errno=EIO" },
	{ RDMA_USER_CM_CMD_DESTROY_ID, "verb=rdma_destroy_id,errno=EIO" },
	{ RDMA_USER_CM_CMD_BIND_IP, "verb=rdma_bind_addr,errno=EIO" },
	{ RDMA_USER_CM_CMD_BIND, "verb=rdma_bind_addr,errno=EIO" },
	{ RDMA_USER_CM_CMD_RESOLVE_IP, "verb=rdma_resolve_addr,errno=EIO" },
	{ RDMA_USER_CM_CMD_RESOLVE_ADDR, "verb=rdma_resolve_addr,errno=EIO" },
	{ RDMA_USER_CM_CMD_RESOLVE_ROUTE, "verb=rdma_resolve_route,errno=EIO" },
	{ RDMA_USER_CM_CMD_CONNECT, "verb=rdma_connect,errno=EIO" },
	{ RDMA_USER_CM_CMD_LISTEN, "verb=rdma_listen,errno=EIO" },
	{ RDMA_USER_CM_CMD_ACCEPT, "verb=rdma_accept,errno=EIO" },
	{ RDMA_USER_CM_CMD_REJECT, "verb=rdma_reject,errno=EIO" },
	{ RDMA_USER_CM_CMD_DISCONNECT, "verb=rdma_disconnect,errno=EIO" },
	{ RDMA_USER_CM_CMD_SET_OPTION, "verb=rdma_set_option,errno=EIO" },
	{ RDMA_USER_CM_CMD_JOIN_IP_MCAST,
	  "verb=rdma_join_multicast,errno=EIO" },
	{ RDMA_USER_CM_CMD_JOIN_MCAST, "verb=rdma_join_multicast,errno=EIO" },
	{ RDMA_USER_CM_CMD_LEAVE_MCAST, "verb=rdma_leave_multicast,errno=EIO" },
	{ RDMA_USER_CM_CMD_MIGRATE_ID, "verb=rdma_migrate_id,errno=EIO" },
};

static void a_rule_fails_the_command_of_a_call(void **state)
{
	const uint8_t zeros[512] = { 0 };
	struct ucm *u = *state;

	for (size_t i = 0; i < ARRAY_LEN(failing); i++) {
		rnic_fault_read(failing[i].rule);
		assert_int_equal(ucm_send(u, failing[i].nr, zeros,
					  sizeof(zeros), ANSWER_SIZE),
				 -EIO);
	}
	rnic_fault_read("cq=overrun"); /* none that is met here */
}

static void a_failed_command_has_done_nothing(void **state)
{
	struct rdma_ucm_create_id cmd = { .response = answer_of(*state),
					  .ps = RDMA_PS_TCP };
	struct ucm *u = *state;

	rnic_fault_read("verb=rdma_create_id,nth=2,errno=ENOMEM");
	ucm_create(u);
	memset(u->answer, 0xee, sizeof(u->answer));
	assert_int_equal(SEND(u, CREATE_ID, cmd, ANSWER_SIZE), -ENOMEM);
	assert_int_equal(u->answer[0], 0xee);
	ucm_create(u);
	rnic_fault_read("cq=overrun");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UCM_TEST(short_commands_are_refused),
		UCM_TEST(header_must_fit_what_was_written),
		UCM_TEST(unknown_ids_are_not_found),
		UCM_TEST(bad_pointers_cost_an_errno),
		cmocka_unit_test(answer_beyond_mapped_memory_is_efault),
		UCM_TEST(a_bad_pointer_costs_no_event),
		UCM_TEST(port_spaces_depend_on_the_persona),
		UCM_TEST(resolved_id_tells_its_route),
		UCM_TEST(answers_stop_at_the_place_given),
		cmocka_unit_test(a_connection_takes_the_steps_of_its_persona),
		cmocka_unit_test(
			an_application_that_moves_its_qp_is_waited_for),
		UCM_TEST(options_want_their_size),
		UCM_TEST(addresses_want_their_size),
		UCM_TEST(multicast_of_a_connection_is_refused),
		UCM_TEST(own_events_are_of_two_kinds),
		cmocka_unit_test(migration_names_the_old_file),
		UCM_TEST(destroy_counts_what_was_fetched),
		cmocka_unit_test(open_obeys_its_flags),
		UCM_TEST(a_sandbox_changes_nothing),
		UCM_TEST(a_guard_changes_nothing),
		UCM_TEST(a_rule_fails_the_command_of_a_call),
		UCM_TEST(a_failed_command_has_done_nothing),
	};
	const struct CMUnitTest rnic_tests[] = {
		UCM_TEST(qp_attributes_are_those_of_a_rnic),
	};
	int failed;

	is_ca = util_settings()->persona == UTIL_PERSONA_CA;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (!is_ca)
		failed += cmocka_run_group_tests(rnic_tests, NULL, NULL);
	return failed;
}
