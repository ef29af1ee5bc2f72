/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Commands of the rdma_cm file and their events, as usiw trace prints them. */
#include "ucm-fixture.h"

#include "commands/ucm-trace.h"

static struct sockaddr_in6 address(uint16_t port)
{
	struct sockaddr_in in = loopback(port);
	struct sockaddr_in6 copy = { 0 };

	memcpy(&copy, &in, sizeof(in));
	return copy;
}

static void expect_args(uint32_t nr, const void *cmd, const char *text)
{
	char buf[512] = "";
	struct util_text args = { .buf = buf, .size = sizeof(buf) };

	kabi_ucm_print_args(&args, nr, cmd);
	assert_string_equal(buf, text);
}

#define EXPECT_ARGS(word, cmd, text)                                           \
	expect_args(RDMA_USER_CM_CMD_##word, cmd, text)

CASE(commands_have_their_arguments)
{
	struct rdma_ucm_create_id create = { .ps = RDMA_PS_UDP };
	struct rdma_ucm_destroy_id destroy = { .id = 3 };
	struct rdma_ucm_resolve_ip resolve = { .dst_addr = address(7174),
					       .id = 1,
					       .timeout_ms = 2000 };
	struct rdma_ucm_bind_ip bind = { .addr = address(9), .id = 2 };
	struct rdma_ucm_listen listen = { .id = 2, .backlog = 7 };
	struct rdma_ucm_connect connect = { .id = 1 };
	struct rdma_ucm_set_option option = { .id = 4,
					      .optname = RDMA_OPTION_ID_TOS,
					      .optlen = 1 };
	struct rdma_ucm_get_event get = { .response = 1 };

	EXPECT_ARGS(CREATE_ID, &create, "ps=RDMA_PS_UDP");
	EXPECT_ARGS(DESTROY_ID, &destroy, "id=3");
	EXPECT_ARGS(RESOLVE_IP, &resolve,
		    "id=1, src_addr=NULL, dst_addr=127.0.0.1 port 7174, "
		    "timeout_ms=2000");
	EXPECT_ARGS(BIND_IP, &bind, "id=2, addr=127.0.0.1 port 9");
	EXPECT_ARGS(LISTEN, &listen, "id=2, backlog=7");
	EXPECT_ARGS(CONNECT, &connect, "id=1, conn_param=NULL");
	connect.conn_param = (struct rdma_ucm_conn_param){ .qp_num = 0x11,
							   .initiator_depth = 2,
							   .valid = 1 };
	EXPECT_ARGS(CONNECT, &connect,
		    "id=1, conn_param={qp_num=0x000011, responder_resources=0, "
		    "initiator_depth=2, retry_count=0, rnr_retry_count=0, "
		    "private_data_len=0}");
	EXPECT_ARGS(SET_OPTION, &option,
		    "id=4, level=0, optname=RDMA_OPTION_ID_TOS, optlen=1");
	EXPECT_ARGS(GET_EVENT, &get, "");
	expect_args(4000, &get, "");
}

CASE(a_new_id_and_a_failure_are_results)
{
	struct rdma_ucm_create_id_resp resp = { .id = 5 };
	struct rdma_ucm_create_id create = { .response = (uintptr_t)&resp };
	char buf[64] = "";
	struct util_text made = { .buf = buf, .size = sizeof(buf) };

	kabi_ucm_print_made(&made, RDMA_USER_CM_CMD_CREATE_ID, &create, 0);
	assert_string_equal(buf, "id 5");
	made.len = 0;
	kabi_ucm_print_made(&made, RDMA_USER_CM_CMD_CREATE_ID, &create, -1);
	assert_string_equal(buf, "-1");
	/* A program may have unmapped it. */
	made.len = 0;
	buf[0] = '\0';
	create.response = 8;
	kabi_ucm_print_made(&made, RDMA_USER_CM_CMD_CREATE_ID, &create, 0);
	assert_string_equal(buf, "");
}

/* Not the id: the events of it that the program has read. */
CASE(a_moved_id_has_no_new_number)
{
	struct rdma_ucm_migrate_resp resp = { .events_reported = 3 };
	struct rdma_ucm_migrate_id migrate = { .response = (uintptr_t)&resp,
					       .id = 5 };
	char buf[64] = "";
	struct util_text made = { .buf = buf, .size = sizeof(buf) };

	kabi_ucm_print_made(&made, RDMA_USER_CM_CMD_MIGRATE_ID, &migrate, 0);
	assert_string_equal(buf, "");
	kabi_ucm_print_made(&made, RDMA_USER_CM_CMD_MIGRATE_ID, &migrate, -1);
	assert_string_equal(buf, "-1");
}

CASE(events_have_names_and_fields)
{
	struct rdma_ucm_event_resp event = { .id = 1,
					     .event = RNIC_CM_UNREACHABLE,
					     .status = (uint32_t)-110 };
	char buf[256] = "";
	struct util_text text = { .buf = buf, .size = sizeof(buf) };

	assert_string_equal(kabi_ucm_print_event(&text, &event),
			    "RDMA_CM_EVENT_UNREACHABLE");
	assert_string_equal(buf, "id=1, status=-110");
	text.len = 0;
	event = (struct rdma_ucm_event_resp){
		.event = RNIC_CM_CONNECT_REQUEST,
		.param.conn = { .qp_num = 0x22, .private_data_len = 3 },
	};
	assert_string_equal(kabi_ucm_print_event(&text, &event),
			    "RDMA_CM_EVENT_CONNECT_REQUEST");
	assert_string_equal(buf, "id=0, status=0, qp_num=0x000022, "
				 "responder_resources=0, initiator_depth=0, "
				 "private_data_len=3");
	event.event = 999;
	assert_string_equal(kabi_ucm_print_event(&text, &event),
			    "RDMA_CM_EVENT");
}
