/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Every command of the rdma_cm file, refused: one line at USIW_LOG=debug:cm
 * with the call of librdmacm, the errno, and what is wrong. */
#include "ucm-fixture.h"

#include <errno.h>

#include "said.h"
#include "util/log.h"

/* Since Linux 6.18; older headers lack them. */
#define RDMA_USER_CM_CMD_RESOLVE_SERVICE 23
#define RDMA_USER_CM_CMD_WRITE_EVENT 24
#define COMMAND_CNT 25

struct service {
	uint32_t id, reserved;
};

struct write_event {
	uint32_t id, reserved, event, status;
	uint8_t arg[272];
};

union command {
	struct rdma_ucm_create_id create;
	struct rdma_ucm_destroy_id destroy;
	struct rdma_ucm_bind_ip bind_ip;
	struct rdma_ucm_bind bind;
	struct rdma_ucm_resolve_ip resolve_ip;
	struct rdma_ucm_resolve_addr resolve_addr;
	struct rdma_ucm_resolve_route resolve_route;
	struct rdma_ucm_query query;
	struct rdma_ucm_connect connect;
	struct rdma_ucm_listen listen;
	struct rdma_ucm_accept accept;
	struct rdma_ucm_reject reject;
	struct rdma_ucm_disconnect disconnect;
	struct rdma_ucm_init_qp_attr init_qp_attr;
	struct rdma_ucm_get_event get_event;
	struct rdma_ucm_set_option set_option;
	struct rdma_ucm_notify notify;
	struct rdma_ucm_join_ip_mcast join_ip;
	struct rdma_ucm_join_mcast join;
	struct rdma_ucm_migrate_id migrate;
	struct service service;
	struct write_event write_event;
};

#define NO_ID SIZE_MAX
#define OTHER_ID 4000 /* there is none */

/* @member: of union command. */
#define ROW_AT(word, member, at, error, words, ...)                            \
	{                                                                      \
		.nr = RDMA_USER_CM_CMD_##word,                                 \
		.size = sizeof(((union command *)NULL)->member),               \
		.id_at = (at),                                                 \
		.err = (error),                                                \
		.says = (words),                                               \
		.cmd.member = { __VA_ARGS__ },                                 \
	}
/* With the number of an idle identity, unless the row has another one. */
#define ROW(word, member, error, words, ...)                                   \
	ROW_AT(word, member, offsetof(union command, member.id), error, words, \
	       __VA_ARGS__)

static const struct {
	uint32_t nr;
	size_t size, id_at;
	int err;
	const char *says;
	union command cmd;
} rows[] = {
	ROW_AT(CREATE_ID, create, NO_ID, EINVAL,
	       "rdma_create_id: EINVAL: ps is 0x999, not RDMA_PS_TCP",
	       .ps = 0x999),
	ROW_AT(CREATE_ID, create, NO_ID, EOPNOTSUPP,
	       "rdma_create_id: EOPNOTSUPP: RDMA_PS_IB is of InfiniBand",
	       .ps = RDMA_PS_IB),
	/* the first of those that want datagrams is an error */
	ROW_AT(CREATE_ID, create, NO_ID, EOPNOTSUPP,
	       "cm: error: rdma_create_id: EOPNOTSUPP: an iWARP device has no "
	       "datagrams",
	       .ps = RDMA_PS_UDP),
	ROW_AT(CREATE_ID, create, NO_ID, EOPNOTSUPP,
	       "cm: debug: rdma_create_id: EOPNOTSUPP: an iWARP device has no "
	       "datagrams",
	       .ps = RDMA_PS_IPOIB),
	ROW(DESTROY_ID, destroy, ENOENT,
	    "rdma_destroy_id: ENOENT: the channel has no such id",
	    .id = OTHER_ID),
	ROW(BIND_IP, bind_ip, EINVAL,
	    "rdma_bind_addr: EINVAL: the family of an address is 99",
	    .addr.sin6_family = 99),
	ROW(RESOLVE_IP, resolve_ip, EINVAL,
	    "rdma_resolve_addr: EINVAL: the family of an address is 98",
	    .dst_addr.sin6_family = 98),
	ROW(RESOLVE_ROUTE, resolve_route, EINVAL,
	    "rdma_resolve_route: EINVAL: the state is IDLE, not ADDR"),
	ROW(QUERY_ROUTE, query, ENOENT,
	    "rdma_cm_query: ENOENT: the channel has no such id",
	    .id = OTHER_ID),
	ROW(CONNECT, connect, EINVAL,
	    "rdma_connect: EINVAL: conn_param.valid is 0"),
	ROW(LISTEN, listen, ENOENT,
	    "rdma_listen: ENOENT: the channel has no such id", .id = OTHER_ID),
	ROW(ACCEPT, accept, EINVAL,
	    "rdma_accept: EINVAL: the state is IDLE, not REQUEST",
	    .conn_param = { .valid = 1 }),
	ROW(ACCEPT, accept, EINVAL,
	    "rdma_establish: EINVAL: there is no connect response"),
	ROW(REJECT, reject, EINVAL, "rdma_reject: EINVAL: reason is 7, not 0",
	    .reason = 7),
	ROW(DISCONNECT, disconnect, EINVAL,
	    "rdma_disconnect: EINVAL: the state is IDLE, not ESTABLISHED"),
	ROW(INIT_QP_ATTR, init_qp_attr, EINVAL,
	    "rdma_init_qp_attr: EINVAL: id "),
	ROW_AT(GET_OPTION, set_option, NO_ID, ENOSYS,
	       "rdma_get_option: ENOSYS: there are no options"),
	ROW(SET_OPTION, set_option, EINVAL,
	    "rdma_set_option: EINVAL: optname is 0, optlen 9, not 1",
	    .optname = RDMA_OPTION_ID_TOS, .optlen = 9),
	ROW(SET_OPTION, set_option, ENOSYS,
	    "rdma_set_option: ENOSYS: level is 0, optname 77", .optname = 77),
	ROW(NOTIFY, notify, EINVAL, "rdma_notify: EINVAL: id "),
	ROW(JOIN_IP_MCAST, join_ip, EOPNOTSUPP,
	    "rdma_join_multicast: EOPNOTSUPP: an iWARP device has no "),
	ROW(LEAVE_MCAST, destroy, EOPNOTSUPP,
	    "rdma_leave_multicast: EOPNOTSUPP: an iWARP device has no "),
	ROW(MIGRATE_ID, migrate, EINVAL,
	    "rdma_migrate_id: EINVAL: descriptor 2 is no rdma_cm file",
	    .fd = 2),
	ROW(QUERY, query, ENOSYS, "rdma_cm_query: ENOSYS: option is 9, not an ",
	    .option = 9),
	ROW(BIND, bind, EINVAL,
	    "rdma_bind_addr: EINVAL: the family of an address is 2, ",
	    .addr_size = 3, .addr.ss_family = AF_INET),
	ROW(RESOLVE_ADDR, resolve_addr, EINVAL,
	    "rdma_resolve_addr: EINVAL: the family of an address is 0, "),
	ROW(JOIN_MCAST, join, EINVAL,
	    "rdma_join_multicast: EINVAL: join_flags is 9", .join_flags = 9),
	ROW(RESOLVE_SERVICE, service, EOPNOTSUPP,
	    "rdma_resolve_addrinfo: EOPNOTSUPP: services are in the table"),
	ROW(WRITE_EVENT, write_event, EINVAL,
	    "rdma_write_cm_event: EINVAL: the event is 3, not ", .event = 3),
};

static int setup(void **state)
{
	return util_log_route("cm", UTIL_LOG_DEBUG, UTIL_LOG_STDERR, NULL) ||
	       ucm_setup(state);
}

/* Exactly one line, with these words. */
static void must_have_said(const char *text, const char *says)
{
	assert_row(says, strstr(text, says));
	assert_row(says, strchr(text, '\n') == text + strlen(text) - 1);
}

CASE_WITH(every_command_says_why, setup, ucm_teardown)
{
	bool is_tried[COMMAND_CNT] = { [RDMA_USER_CM_CMD_GET_EVENT] = true };
	struct ucm *u = *state;
	uint32_t id = ucm_create(u);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		union command cmd = rows[i].cmd;
		uint8_t *octets = (uint8_t *)&cmd;
		uint32_t wanted = 0;
		ssize_t ret;

		if (rows[i].id_at != NO_ID)
			memcpy(&wanted, octets + rows[i].id_at, sizeof(wanted));
		if (rows[i].id_at != NO_ID && !wanted)
			memcpy(octets + rows[i].id_at, &id, sizeof(id));
		said_begin();
		ret = ucm_send(u, rows[i].nr, &cmd, rows[i].size, ANSWER_SIZE);
		must_have_said(said_end(), rows[i].says);
		assert_row(rows[i].says, ret == -rows[i].err);
		is_tried[rows[i].nr] = true;
	}
	for (size_t i = 0; i < COMMAND_CNT; i++)
		assert_true(is_tried[i]);
}

/* The table of commands knows how much room an answer needs. */
CASE_WITH(an_answer_without_room_says_so, setup, ucm_teardown)
{
	static const struct {
		uint32_t nr;
		const char *says;
	} answers[] = {
		{ RDMA_USER_CM_CMD_CREATE_ID, "rdma_create_id: ENOSPC: there" },
		{ RDMA_USER_CM_CMD_DESTROY_ID, "rdma_destroy_id: ENOSPC: " },
		{ RDMA_USER_CM_CMD_QUERY_ROUTE, "rdma_cm_query: ENOSPC: " },
		{ RDMA_USER_CM_CMD_QUERY, "rdma_cm_query: ENOSPC: " },
		{ RDMA_USER_CM_CMD_INIT_QP_ATTR, "rdma_init_qp_attr: ENOSPC" },
		{ RDMA_USER_CM_CMD_GET_EVENT, "rdma_get_cm_event: ENOSPC: " },
		{ RDMA_USER_CM_CMD_MIGRATE_ID, "rdma_migrate_id: ENOSPC: " },
		{ RDMA_USER_CM_CMD_JOIN_IP_MCAST, "rdma_join_multicast: ENOS" },
		{ RDMA_USER_CM_CMD_JOIN_MCAST, "rdma_join_multicast: ENOSPC" },
		{ RDMA_USER_CM_CMD_LEAVE_MCAST, "rdma_leave_multicast: ENOS" },
	};
	struct ucm *u = *state;
	uint32_t id = ucm_create(u);

	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		union command cmd = { .query = { .id = id } };
		ssize_t ret;

		said_begin();
		ret = ucm_send(u, answers[i].nr, &cmd, sizeof(cmd), 1);
		must_have_said(said_end(), answers[i].says);
		assert_row(answers[i].says, ret == -ENOSPC);
	}
}

/* What is no command. */
CASE_WITH(octets_that_are_no_command_say_so, setup, ucm_teardown)
{
	struct ucm *u = *state;
	union command cmd = { .query = { .id = 0 } };
	ssize_t ret;

	said_begin();
	ret = kabi_ucm_write(u->object, &cmd, 3);
	must_have_said(said_end(), "rdma_cm: EINVAL: write() of 3 octets");
	assert_int_equal(ret, -EINVAL);
	said_begin();
	ret = ucm_send(u, COMMAND_CNT, &cmd, 8, 0);
	must_have_said(said_end(), "rdma_cm: EINVAL: command 25, in 8 octets");
	assert_int_equal(ret, -EINVAL);
	said_begin();
	ret = ucm_send(u, RDMA_USER_CM_CMD_QUERY, &cmd, 2, 0);
	must_have_said(said_end(), "rdma_cm: EINVAL: command 19, in 2 octets");
	assert_int_equal(ret, -EINVAL);
}
