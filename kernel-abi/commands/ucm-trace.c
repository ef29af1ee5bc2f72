/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See ucm-trace.h. */
#include "commands/ucm-trace.h"

#include <rdma/rdma_user_cm.h>
#include <stddef.h>
#include <string.h>

#include "base/rnic-dl.h"
#include "base/user.h"
#include "util/addr-text.h"
#include "util/clock.h"
#include "util/keep-errno.h"

#define ADD(...) util_text_add(text, __VA_ARGS__)

bool kabi_ucm_is_traced(void)
{
	/* relaxed: a command that is seen late lacks a record */
	return atomic_load_explicit(kabi_rnic()->observed_word(),
				    memory_order_relaxed) &
	       1u << USIW_OBSERVE_CALLS;
}

/* ---- arguments ---------------------------------------------------------- */

static const struct util_text_name port_spaces[] = {
	{ RDMA_PS_TCP, "RDMA_PS_TCP" },
	{ RDMA_PS_UDP, "RDMA_PS_UDP" },
	{ RDMA_PS_IPOIB, "RDMA_PS_IPOIB" },
	{ RDMA_PS_IB, "RDMA_PS_IB" },
	{ 0, NULL },
};

static const struct util_text_name options[] = {
	{ RDMA_OPTION_ID_TOS, "RDMA_OPTION_ID_TOS" },
	{ RDMA_OPTION_ID_REUSEADDR, "RDMA_OPTION_ID_REUSEADDR" },
	{ RDMA_OPTION_ID_AFONLY, "RDMA_OPTION_ID_AFONLY" },
	{ RDMA_OPTION_ID_ACK_TIMEOUT, "RDMA_OPTION_ID_ACK_TIMEOUT" },
	{ 0, NULL },
};

static const struct util_text_name events[] = {
	{ RNIC_CM_ADDR_RESOLVED, "RDMA_CM_EVENT_ADDR_RESOLVED" },
	{ RNIC_CM_ADDR_ERROR, "RDMA_CM_EVENT_ADDR_ERROR" },
	{ RNIC_CM_ROUTE_RESOLVED, "RDMA_CM_EVENT_ROUTE_RESOLVED" },
	{ RNIC_CM_ROUTE_ERROR, "RDMA_CM_EVENT_ROUTE_ERROR" },
	{ RNIC_CM_CONNECT_REQUEST, "RDMA_CM_EVENT_CONNECT_REQUEST" },
	{ RNIC_CM_CONNECT_RESPONSE, "RDMA_CM_EVENT_CONNECT_RESPONSE" },
	{ RNIC_CM_CONNECT_ERROR, "RDMA_CM_EVENT_CONNECT_ERROR" },
	{ RNIC_CM_UNREACHABLE, "RDMA_CM_EVENT_UNREACHABLE" },
	{ RNIC_CM_REJECTED, "RDMA_CM_EVENT_REJECTED" },
	{ RNIC_CM_ESTABLISHED, "RDMA_CM_EVENT_ESTABLISHED" },
	{ RNIC_CM_DISCONNECTED, "RDMA_CM_EVENT_DISCONNECTED" },
	{ RNIC_CM_DEVICE_REMOVAL, "RDMA_CM_EVENT_DEVICE_REMOVAL" },
	{ RNIC_CM_MULTICAST_JOIN, "RDMA_CM_EVENT_MULTICAST_JOIN" },
	{ RNIC_CM_ADDR_CHANGE, "RDMA_CM_EVENT_ADDR_CHANGE" },
	{ RNIC_CM_TIMEWAIT_EXIT, "RDMA_CM_EVENT_TIMEWAIT_EXIT" },
	{ RNIC_CM_USER, "RDMA_CM_EVENT_USER" },
	{ RNIC_CM_INTERNAL, "RDMA_CM_EVENT_INTERNAL" },
	{ 0, NULL },
};

/* How a member of a command is printed. */
enum look { NUMBER, SIGNED, ADDR, PARAM, PORT_SPACE, OPTION };

#define F(word, type, member, look)                                            \
	{ RDMA_USER_CM_CMD_##word, look, offsetof(struct type, member),        \
	  sizeof(((struct type *)NULL)->member), #member }

static const struct field {
	uint8_t nr, look;
	uint16_t at, size;
	const char *name;
} fields[] = {
	F(CREATE_ID, rdma_ucm_create_id, ps, PORT_SPACE),
	F(DESTROY_ID, rdma_ucm_destroy_id, id, NUMBER),
	F(BIND_IP, rdma_ucm_bind_ip, id, NUMBER),
	F(BIND_IP, rdma_ucm_bind_ip, addr, ADDR),
	F(BIND, rdma_ucm_bind, id, NUMBER),
	F(BIND, rdma_ucm_bind, addr, ADDR),
	F(RESOLVE_IP, rdma_ucm_resolve_ip, id, NUMBER),
	F(RESOLVE_IP, rdma_ucm_resolve_ip, src_addr, ADDR),
	F(RESOLVE_IP, rdma_ucm_resolve_ip, dst_addr, ADDR),
	F(RESOLVE_IP, rdma_ucm_resolve_ip, timeout_ms, NUMBER),
	F(RESOLVE_ADDR, rdma_ucm_resolve_addr, id, NUMBER),
	F(RESOLVE_ADDR, rdma_ucm_resolve_addr, src_addr, ADDR),
	F(RESOLVE_ADDR, rdma_ucm_resolve_addr, dst_addr, ADDR),
	F(RESOLVE_ADDR, rdma_ucm_resolve_addr, timeout_ms, NUMBER),
	F(RESOLVE_ROUTE, rdma_ucm_resolve_route, id, NUMBER),
	F(RESOLVE_ROUTE, rdma_ucm_resolve_route, timeout_ms, NUMBER),
	F(QUERY_ROUTE, rdma_ucm_query, id, NUMBER),
	F(QUERY, rdma_ucm_query, id, NUMBER),
	F(CONNECT, rdma_ucm_connect, id, NUMBER),
	F(CONNECT, rdma_ucm_connect, conn_param, PARAM),
	F(LISTEN, rdma_ucm_listen, id, NUMBER),
	F(LISTEN, rdma_ucm_listen, backlog, SIGNED),
	F(ACCEPT, rdma_ucm_accept, id, NUMBER),
	F(ACCEPT, rdma_ucm_accept, conn_param, PARAM),
	F(REJECT, rdma_ucm_reject, id, NUMBER),
	F(REJECT, rdma_ucm_reject, private_data_len, NUMBER),
	F(REJECT, rdma_ucm_reject, reason, NUMBER),
	F(DISCONNECT, rdma_ucm_disconnect, id, NUMBER),
	F(INIT_QP_ATTR, rdma_ucm_init_qp_attr, id, NUMBER),
	F(INIT_QP_ATTR, rdma_ucm_init_qp_attr, qp_state, NUMBER),
	F(SET_OPTION, rdma_ucm_set_option, id, NUMBER),
	F(SET_OPTION, rdma_ucm_set_option, level, NUMBER),
	F(SET_OPTION, rdma_ucm_set_option, optname, OPTION),
	F(SET_OPTION, rdma_ucm_set_option, optlen, NUMBER),
	F(NOTIFY, rdma_ucm_notify, id, NUMBER),
	F(NOTIFY, rdma_ucm_notify, event, NUMBER),
	F(JOIN_IP_MCAST, rdma_ucm_join_ip_mcast, id, NUMBER),
	F(JOIN_IP_MCAST, rdma_ucm_join_ip_mcast, addr, ADDR),
	F(JOIN_MCAST, rdma_ucm_join_mcast, id, NUMBER),
	F(JOIN_MCAST, rdma_ucm_join_mcast, addr, ADDR),
	F(LEAVE_MCAST, rdma_ucm_destroy_id, id, NUMBER),
	F(MIGRATE_ID, rdma_ucm_migrate_id, id, NUMBER),
	F(MIGRATE_ID, rdma_ucm_migrate_id, fd, SIGNED),
};

static void addr_print(struct util_text *text, const void *addr, size_t size)
{
	struct sockaddr_storage copy = { 0 };

	memcpy(&copy, addr, size);
	ADD("%s", copy.ss_family == AF_UNSPEC ? "NULL" : UTIL_ADDR_TEXT(&copy));
}

static void param_print(struct util_text *text,
			const struct rdma_ucm_conn_param *param)
{
	if (!param->valid) {
		ADD("NULL");
		return;
	}
	ADD("{qp_num=0x%06x, responder_resources=%u, initiator_depth=%u, "
	    "retry_count=%u, rnr_retry_count=%u, private_data_len=%u}",
	    param->qp_num, param->responder_resources, param->initiator_depth,
	    param->retry_count, param->rnr_retry_count,
	    param->private_data_len);
}

static void field_print(struct util_text *text, const struct field *field,
			const void *at)
{
	uint32_t number;

	if (field->look == ADDR) {
		addr_print(text, at, field->size);
		return;
	}
	if (field->look == PARAM) {
		param_print(text, at);
		return;
	}
	number = field->size == 1   ? *(const uint8_t *)at
		 : field->size == 2 ? *(const uint16_t *)at
				    : *(const uint32_t *)at;
	if (field->look == PORT_SPACE)
		util_text_add_name(text, port_spaces, number);
	else if (field->look == OPTION)
		util_text_add_name(text, options, number);
	else
		ADD(field->look == SIGNED ? "%d" : "%u", number);
}

void kabi_ucm_print_args(struct util_text *text, uint32_t nr, const void *cmd)
{
	const char *between = "";

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (fields[i].nr != nr)
			continue;
		ADD("%s%s=", between, fields[i].name);
		field_print(text, &fields[i], (const char *)cmd + fields[i].at);
		between = ", ";
	}
}

/* ---- results ------------------------------------------------------------ */

void kabi_ucm_print_made(struct util_text *text, uint32_t nr, const void *cmd,
			 int ret)
{
	struct rdma_ucm_create_id_resp resp;
	uint64_t response = 0;

	if (ret < 0) {
		ADD("-1");
		return;
	}
	if (nr == RDMA_USER_CM_CMD_CREATE_ID)
		response = ((const struct rdma_ucm_create_id *)cmd)->response;
	else if (nr == RDMA_USER_CM_CMD_JOIN_MCAST ||
		 nr == RDMA_USER_CM_CMD_JOIN_IP_MCAST) /* their first member */
		memcpy(&response, cmd, sizeof(response));
	if (response && kabi_user_get(&resp, response, sizeof(resp)) == 0)
		ADD("id %u", resp.id);
}

const char *kabi_ucm_print_event(struct util_text *text,
				 const struct rdma_ucm_event_resp *event)
{
	const struct rdma_ucm_conn_param *conn = &event->param.conn;
	const char *name = util_text_name(events, event->event);

	ADD("id=%u, status=%d", event->id, (int)event->status);
	if (event->event == RNIC_CM_CONNECT_REQUEST ||
	    event->event == RNIC_CM_CONNECT_RESPONSE ||
	    event->event == RNIC_CM_ESTABLISHED ||
	    event->event == RNIC_CM_REJECTED)
		ADD(", qp_num=0x%06x, responder_resources=%u, "
		    "initiator_depth=%u, private_data_len=%u",
		    conn->qp_num, conn->responder_resources,
		    conn->initiator_depth, conn->private_data_len);
	return name ? name : "RDMA_CM_EVENT";
}

/* ---- records ------------------------------------------------------------ */

static void record_write(enum usiw_call_record_kind kind, const char *name,
			 const struct util_text *args,
			 const struct util_text *made, uint64_t took_ns,
			 int ret)
{
	uint32_t name_len = (uint32_t)strlen(name);
	struct rnic_observer_record record;
	struct usiw_call_record *to;

	if (!kabi_rnic()->observer_begin(
		    USIW_OBSERVE_CALLS, (uint16_t)kind,
		    (uint32_t)(sizeof(*to) + name_len + args->len + made->len),
		    &record))
		return;
	to = record.payload;
	to->took_ns = took_ns;
	to->cnt = 1;
	to->result = ret;
	usiw_call_record_set_text(to, name, name_len, args->buf,
				  (uint32_t)args->len, made->buf,
				  (uint32_t)made->len);
	kabi_rnic()->observer_end(USIW_OBSERVE_CALLS, &record);
}

static void event_trace(const struct kabi_ucm_call *call)
{
	const struct rdma_ucm_get_event *cmd = call->cmd;
	char buf[256] = "", none[1] = "";
	struct util_text text = { .buf = buf, .size = sizeof(buf) };
	struct util_text made = { .buf = none };
	struct rdma_ucm_event_resp event;
	const char *name;

	memset(&event, 0, sizeof(event));
	if (kabi_user_get(&event, cmd->response,
			  call->out < sizeof(event) ? call->out
						    : sizeof(event)) < 0)
		return;
	name = kabi_ucm_print_event(&text, &event);
	record_write(USIW_RECORD_EVENT, name, &text, &made, 0, 0);
}

void kabi_ucm_trace(uint32_t nr, const struct kabi_ucm_call *call,
		    uint64_t began_ns, int ret)
{
	char args_buf[512] = "", made_buf[32] = "";
	struct util_text args = { .buf = args_buf, .size = sizeof(args_buf) };
	struct util_text made = { .buf = made_buf, .size = sizeof(made_buf) };
	UTIL_KEEP_ERRNO();

	kabi_ucm_print_args(&args, nr, call->cmd);
	kabi_ucm_print_made(&made, nr, call->cmd, ret);
	record_write(USIW_RECORD_CALL, call->name, &args, &made,
		     util_now_ns() - began_ns, ret);
	if (nr == RDMA_USER_CM_CMD_GET_EVENT && ret >= 0)
		event_trace(call);
}
