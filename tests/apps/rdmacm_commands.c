/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Every command of the rdma_cm file, written directly. librdmacm writes half of
 * them only if the kernel supports AF_IB.
 */
#include "rdmacm_must.h"

#include <infiniband/verbs.h>
#include <rdma/rdma_user_cm.h>

/* <rdma/rdma_cma.h> has these, but conflicts with the kernel's header. */
enum {
	RDMA_CM_EVENT_ADDR_RESOLVED = 0,
	RDMA_CM_EVENT_ROUTE_RESOLVED = 2,
	RDMA_CM_EVENT_CONNECT_REQUEST = 4,
	RDMA_CM_EVENT_CONNECT_RESPONSE,
	RDMA_CM_EVENT_REJECTED = 8,
	RDMA_CM_EVENT_ESTABLISHED,
	RDMA_CM_EVENT_DISCONNECTED,
	RDMA_CM_EVENT_USER = 18,
	RDMA_CM_EVENT_INTERNAL,
};

/* Added in Linux 6.18; older headers lack it. */
#define RDMA_USER_CM_CMD_RESOLVE_SERVICE 23
#define RDMA_USER_CM_CMD_WRITE_EVENT 24

struct write_event {
	uint32_t id, reserved, event, status;
	uint64_t arg;
	uint8_t rest[264];
};

#define FAMILY_IB 27

enum { LISTENING, DIALLING, ACCEPTED, FILES };

static const struct {
	const char *name;
	int err;    /* 0: success */
	int ca_err; /* with persona ca */
} commands[] = {
#define WORKS(word) [RDMA_USER_CM_CMD_##word] = { #word, 0, 0 }
#define FAILS(word, error) [RDMA_USER_CM_CMD_##word] = { #word, error, error }
/* Of an identity for connections. */
#define MULTICAST(word, error)                                                 \
	[RDMA_USER_CM_CMD_##word] = { #word, EOPNOTSUPP, error }
	WORKS(CREATE_ID),
	WORKS(DESTROY_ID),
	WORKS(BIND_IP),
	WORKS(RESOLVE_IP),
	WORKS(RESOLVE_ROUTE),
	WORKS(QUERY_ROUTE),
	WORKS(CONNECT),
	WORKS(LISTEN),
	WORKS(ACCEPT),
	WORKS(REJECT),
	WORKS(DISCONNECT),
	WORKS(INIT_QP_ATTR),
	WORKS(GET_EVENT),
	FAILS(GET_OPTION, ENOSYS), /* as in the kernel */
	WORKS(SET_OPTION),
	WORKS(NOTIFY),
	MULTICAST(JOIN_IP_MCAST, EINVAL),
	MULTICAST(LEAVE_MCAST, ENOENT),
	WORKS(MIGRATE_ID),
	WORKS(QUERY),
	WORKS(BIND),
	WORKS(RESOLVE_ADDR),
	MULTICAST(JOIN_MCAST, EINVAL),
	FAILS(RESOLVE_SERVICE, EOPNOTSUPP),
	WORKS(WRITE_EVENT),
#undef WORKS
#undef FAILS
#undef MULTICAST
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static bool is_tried[COMMANDS];
static bool is_ca;
static int fds[FILES];
static union {
	struct rdma_ucm_create_id_resp create;
	struct rdma_ucm_destroy_id_resp destroy;
	struct rdma_ucm_query_route_resp route;
	struct rdma_ucm_query_addr_resp addr;
	struct rdma_ucm_query_path_resp path;
	struct rdma_ucm_event_resp event;
	struct rdma_ucm_migrate_resp migrate;
	struct ib_uverbs_qp_attr qp_attr;
	uint8_t octets[512];
} answer;

/* Writes the command and checks its result against the table. */
static void command(int file, uint32_t nr, const void *cmd, size_t size)
{
	struct rdma_ucm_cmd_hdr hdr = { .cmd = nr,
					.in = (uint16_t)size,
					.out = sizeof(answer) };
	int err = is_ca ? commands[nr].ca_err : commands[nr].err;
	uint8_t buf[512];
	ssize_t ret;

	memcpy(buf, &hdr, sizeof(hdr));
	memcpy(buf + sizeof(hdr), cmd, size);
	errno = 0;
	ret = write(fds[file], buf, sizeof(hdr) + size);
	if ((ret < 0 ? errno : 0) != err)
		fprintf(stderr, "%s\n", commands[nr].name);
	MUST((ret < 0 ? errno : 0) == err);
	MUST(ret < 0 || ret == (ssize_t)(sizeof(hdr) + size));
	is_tried[nr] = true;
}

#define COMMAND(file, word, ...)                                               \
	command(file, RDMA_USER_CM_CMD_##word, &(__VA_ARGS__),                 \
		sizeof(__VA_ARGS__))
#define ANSWER .response = (uintptr_t)&answer

static struct rdma_ucm_event_resp next_event(int file, uint32_t type)
{
	struct pollfd pfd = { .fd = fds[file], .events = POLLIN };

	MUST(poll(&pfd, 1, WAIT_MS) == 1);
	COMMAND(file, GET_EVENT, (struct rdma_ucm_get_event){ ANSWER });
	if (answer.event.event != type)
		fprintf(stderr, "event %u instead of %u\n", answer.event.event,
			type);
	MUST(answer.event.event == type && answer.event.status == 0);
	return answer.event;
}

static uint32_t create(int file)
{
	COMMAND(file, CREATE_ID,
		(struct rdma_ucm_create_id){ ANSWER, .uid = 1,
					     .ps = RDMA_PS_TCP });
	return answer.create.id;
}

static void destroy(int file, uint32_t id, uint32_t reported)
{
	COMMAND(file, DESTROY_ID,
		(struct rdma_ucm_destroy_id){ ANSWER, .id = id });
	MUST(answer.destroy.events_reported == reported);
}

/* Uses the old and the new commands in turn. */
static uint32_t listener(bool is_new, struct sockaddr_in *ret_addr)
{
	struct sockaddr_in addr = addr_of("127.0.0.1", 0);
	struct rdma_ucm_bind bind = { .addr_size = sizeof(addr) };
	struct rdma_ucm_bind_ip bind_ip = { 0 };
	int backlog = 4;
	uint32_t id = create(LISTENING);

	COMMAND(LISTENING, SET_OPTION,
		(struct rdma_ucm_set_option){ .optval = (uintptr_t)&backlog,
					      .id = id,
					      .level = RDMA_OPTION_ID,
					      .optname =
						      RDMA_OPTION_ID_REUSEADDR,
					      .optlen = sizeof(backlog) });
	bind.id = bind_ip.id = id;
	memcpy(&bind.addr, &addr, sizeof(addr));
	memcpy(&bind_ip.addr, &addr, sizeof(addr));
	if (is_new)
		COMMAND(LISTENING, BIND, bind);
	else
		COMMAND(LISTENING, BIND_IP, bind_ip);
	COMMAND(LISTENING, LISTEN,
		(struct rdma_ucm_listen){ .id = id, .backlog = 4 });
	COMMAND(LISTENING, QUERY,
		(struct rdma_ucm_query){ ANSWER, .id = id,
					 .option = RDMA_USER_CM_QUERY_ADDR });
	MUST(answer.addr.src_size == sizeof(addr));
	memcpy(ret_addr, &answer.addr.src_addr, sizeof(*ret_addr));
	return id;
}

static void query(int file, uint32_t id, const struct sockaddr_in *dst)
{
	struct rdma_ucm_query cmd = { ANSWER, .id = id };

	COMMAND(file, QUERY_ROUTE, cmd);
	MUST(answer.route.node_guid && answer.route.port_num == 1);
	MUST(answer.route.num_paths == is_ca);
	MUST(memcmp(&answer.route.dst_addr, dst, 8) == 0);
	cmd.option = RDMA_USER_CM_QUERY_ADDR;
	COMMAND(file, QUERY, cmd);
	MUST(answer.addr.dst_size == sizeof(*dst));
	cmd.option = RDMA_USER_CM_QUERY_GID;
	COMMAND(file, QUERY, cmd);
	MUST(answer.addr.src_addr.ss_family == FAMILY_IB);
	cmd.option = RDMA_USER_CM_QUERY_PATH;
	COMMAND(file, QUERY, cmd);
	MUST(answer.path.num_paths == is_ca);
}

static uint32_t dialler(bool is_new, const struct sockaddr_in *dst)
{
	struct rdma_ucm_resolve_addr resolve = { .dst_size = sizeof(*dst) };
	struct rdma_ucm_resolve_ip resolve_ip = { .timeout_ms = 2000 };
	uint32_t id = create(DIALLING);

	resolve.id = resolve_ip.id = id;
	resolve.timeout_ms = 2000;
	memcpy(&resolve.dst_addr, dst, sizeof(*dst));
	memcpy(&resolve_ip.dst_addr, dst, sizeof(*dst));
	if (is_new)
		COMMAND(DIALLING, RESOLVE_ADDR, resolve);
	else
		COMMAND(DIALLING, RESOLVE_IP, resolve_ip);
	next_event(DIALLING, RDMA_CM_EVENT_ADDR_RESOLVED);
	COMMAND(DIALLING, RESOLVE_ROUTE,
		(struct rdma_ucm_resolve_route){ .id = id,
						 .timeout_ms = 2000 });
	next_event(DIALLING, RDMA_CM_EVENT_ROUTE_RESOLVED);
	query(DIALLING, id, dst);
	return id;
}

static void connect_to(uint32_t id, const struct ibv_qp *qp)
{
	struct rdma_ucm_connect cmd = { .id = id };

	COMMAND(DIALLING, INIT_QP_ATTR,
		(struct rdma_ucm_init_qp_attr){ ANSWER, .id = id,
						.qp_state = IBV_QPS_INIT });
	MUST(answer.qp_attr.qp_attr_mask & IBV_QP_STATE);
	cmd.conn_param.qp_num = qp->qp_num;
	cmd.conn_param.responder_resources = 1;
	cmd.conn_param.initiator_depth = 1;
	cmd.conn_param.valid = 1;
	COMMAND(DIALLING, CONNECT, cmd);
}

/* From the file of the listener to its own file. The number stays. */
static void migrate(uint32_t id)
{
	COMMAND(ACCEPTED, MIGRATE_ID,
		(struct rdma_ucm_migrate_id){ ANSWER, .id = id,
					      .fd = (uint32_t)fds[LISTENING] });
	MUST(answer.migrate.events_reported == 0);
}

static void accept_it(uint32_t id, const struct ibv_qp *qp)
{
	struct rdma_ucm_accept cmd = { .id = id, .uid = 7 };

	cmd.conn_param.qp_num = qp->qp_num;
	cmd.conn_param.responder_resources = 1;
	cmd.conn_param.initiator_depth = 1;
	cmd.conn_param.valid = 1;
	COMMAND(ACCEPTED, ACCEPT, cmd);
}

static void whole_connection(bool is_new, const struct ibv_qp *a,
			     const struct ibv_qp *b)
{
	struct sockaddr_in addr;
	uint32_t listen_id = listener(is_new, &addr);
	uint32_t id = dialler(is_new, &addr), child;
	struct rdma_ucm_event_resp event;

	connect_to(id, a);
	event = next_event(LISTENING, RDMA_CM_EVENT_CONNECT_REQUEST);
	MUST(event.uid == 1 && event.id != listen_id);
	child = event.id;
	migrate(child);
	accept_it(child, b);
	event = next_event(DIALLING, is_ca ? RDMA_CM_EVENT_CONNECT_RESPONSE
					   : RDMA_CM_EVENT_ESTABLISHED);
	MUST(event.id == id);
	if (is_ca) {
		COMMAND(ACCEPTED, NOTIFY,
			(struct rdma_ucm_notify){
				.id = child, .event = IBV_EVENT_COMM_EST });
		COMMAND(DIALLING, ACCEPT, (struct rdma_ucm_accept){ .id = id });
	} else {
		COMMAND(ACCEPTED, NOTIFY,
			(struct rdma_ucm_notify){
				.id = child, .event = IBV_EVENT_COMM_EST });
	}
	event = next_event(ACCEPTED, RDMA_CM_EVENT_ESTABLISHED);
	MUST(event.uid == 7 && event.id == child);
	COMMAND(DIALLING, DISCONNECT, (struct rdma_ucm_disconnect){ .id = id });
	next_event(DIALLING, RDMA_CM_EVENT_DISCONNECTED);
	next_event(ACCEPTED, RDMA_CM_EVENT_DISCONNECTED);
	destroy(DIALLING, id, 4);
	destroy(ACCEPTED, child, 2);
	destroy(LISTENING, listen_id, 1);
}

static void rejected(const struct ibv_qp *qp)
{
	struct rdma_ucm_reject cmd = { .private_data_len = 3 };
	struct sockaddr_in addr;
	uint32_t listen_id = listener(false, &addr);
	uint32_t id = dialler(false, &addr);
	struct pollfd pfd = { .fd = fds[DIALLING], .events = POLLIN };

	connect_to(id, qp);
	cmd.id = next_event(LISTENING, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	memcpy(cmd.private_data, "why", 3);
	COMMAND(LISTENING, REJECT, cmd);
	MUST(poll(&pfd, 1, WAIT_MS) == 1);
	COMMAND(DIALLING, GET_EVENT, (struct rdma_ucm_get_event){ ANSWER });
	MUST(answer.event.event == RDMA_CM_EVENT_REJECTED);
	MUST(answer.event.param.conn.private_data_len == 3);
	destroy(LISTENING, cmd.id, 0);
	destroy(LISTENING, listen_id, 1);
	destroy(DIALLING, id, 3);
}

static void multicast(void)
{
	struct sockaddr_in group = addr_of("239.1.2.3", 0);
	struct rdma_ucm_join_mcast join = { ANSWER,
					    .addr_size = sizeof(group) };
	struct rdma_ucm_join_ip_mcast join_ip = { ANSWER };

	join.id = join_ip.id = create(DIALLING);
	memcpy(&join.addr, &group, sizeof(group));
	memcpy(&join_ip.addr, &group, sizeof(group));
	COMMAND(DIALLING, JOIN_MCAST, join);
	COMMAND(DIALLING, JOIN_IP_MCAST, join_ip);
	COMMAND(DIALLING, LEAVE_MCAST, (struct rdma_ucm_destroy_id){ ANSWER });
	COMMAND(DIALLING, GET_OPTION, join_ip);
	destroy(DIALLING, join.id, 0);
}

static struct ibv_context *device_open(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	MUST(list);
	for (int i = 0; list[i]; i++)
		if (strcmp(ibv_get_device_name(list[i]), "usiw_lo") == 0)
			context = ibv_open_device(list[i]);
	MUST(context);
	is_ca = context->device->node_type == IBV_NODE_CA;
	ibv_free_device_list(list);
	return context;
}

/* Connects twice: once by the old commands, once by the new ones. */
static void own_events(void)
{
	static const uint32_t types[] = { RDMA_CM_EVENT_USER,
					  RDMA_CM_EVENT_INTERNAL };
	uint8_t service[80] = { 0 };
	uint32_t id = create(DIALLING);

	for (size_t i = 0; i < 2; i++) {
		struct write_event cmd = { .id = id,
					   .event = types[i],
					   .arg = 0x1122334455667788 };
		struct rdma_ucm_event_resp event;

		COMMAND(DIALLING, WRITE_EVENT, cmd);
		event = next_event(DIALLING, types[i]);
		MUST(event.id == id && event.uid == 1);
		MUST(memcmp(&event.param, &cmd.arg, sizeof(cmd.arg)) == 0);
	}
	memcpy(service, &id, sizeof(id));
	COMMAND(DIALLING, RESOLVE_SERVICE, service);
	destroy(DIALLING, id, 2);
}

void rdmacm_commands(void)
{
	struct ibv_context *context = device_open();
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 1,
						  .max_recv_wr = 1,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 } };
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_qp *qp[5];

	attr.send_cq = attr.recv_cq = ibv_create_cq(context, 8, NULL, NULL, 0);
	for (int i = 0; i < 5; i++) {
		qp[i] = ibv_create_qp(pd, &attr);
		MUST(qp[i]);
	}
	for (int i = 0; i < FILES; i++) {
		fds[i] = open("/dev/infiniband/rdma_cm", O_RDWR | O_NONBLOCK);
		MUST(fds[i] >= 0);
	}
	whole_connection(false, qp[0], qp[1]);
	whole_connection(true, qp[2], qp[3]);
	rejected(qp[4]);
	multicast();
	own_events();
	for (uint32_t nr = 0; nr < COMMANDS; nr++) {
		if (!is_tried[nr])
			fprintf(stderr, "command %u was not tried\n", nr);
		MUST(is_tried[nr] && commands[nr].name);
	}
	for (int i = 0; i < FILES; i++)
		MUST(close(fds[i]) == 0);
	for (int i = 0; i < 5; i++)
		MUST(ibv_destroy_qp(qp[i]) == 0);
}
