/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * /dev/infiniband/rdma_cm: one table of the commands of <rdma/rdma_user_cm.h>.
 *
 * A command is copied out once, then checked, then used; short ones are
 * refused before their handler sees them.
 */
#include "commands/ucm.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/addr-text.h"
#include "util/cancel.h"
#include "util/clock.h"
#include "base/rnic-dl.h"
#include "commands/ucm-event.h"
#include "commands/ucm-file.h"
#include "commands/ucm-mcast.h"
#include "commands/ucm-path.h"
#include "commands/ucm-query.h"
#include "commands/ucm-trace.h"
#include "base/user.h"

#define UCM_CMD_MAX 512
/* IBV_EVENT_COMM_EST of <infiniband/verbs.h>, not included in this module. */
#define EVENT_COMM_EST 4

typedef int (*ucm_handler)(struct kabi_ucm *file,
			   const struct kabi_ucm_call *call);

/* ---- addresses --------------------------------------------------------- */

static size_t family_len(uint16_t family)
{
	switch (family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

/* An address of a command, at its own alignment. */
static struct sockaddr_storage addr_copy(const void *addr, size_t len)
{
	struct sockaddr_storage copy;

	memset(&copy, 0, sizeof(copy));
	memcpy(&copy, addr, len < sizeof(copy) ? len : sizeof(copy));
	return copy;
}

static bool addr_size_is_right(const struct sockaddr_storage *addr, size_t size)
{
	return size != 0 && size == family_len(addr->ss_family);
}

/* AF_IB, too: librdmacm tries it at start. */
static int refuse_family(const struct kabi_ucm_call *call,
			 const struct sockaddr_storage *addr)
{
	return kabi_ucm_refuse(call, EINVAL,
			       "the family of an address is %d, not AF_INET or "
			       "AF_INET6, or its size is not that family's",
			       addr->ss_family);
}

/* ---- identities -------------------------------------------------------- */

/* Only native InfiniBand is refused: usiw does not have its addresses. */
static int ucm_create(struct kabi_ucm *file, const struct kabi_ucm_call *call,
		      uint32_t *ret_id)
{
	const struct rdma_ucm_create_id *cmd = call->cmd;

	switch (cmd->ps) {
	case RDMA_PS_TCP:
		return kabi_rnic()->cm_create(file->chan, cmd->uid, ret_id);
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		return kabi_rnic()->cm_create_ud(file->chan, cmd->uid, cmd->ps,
						 ret_id);
	case RDMA_PS_IB:
		return kabi_ucm_refuse(call, EOPNOTSUPP,
				       "RDMA_PS_IB is of InfiniBand; librdmacm "
				       "asks for it once in every program");
	default:
		return kabi_ucm_refuse(call, EINVAL,
				       "ps is 0x%x, not RDMA_PS_TCP, _UDP or "
				       "_IPOIB",
				       cmd->ps);
	}
}

static int ucm_create_id(struct kabi_ucm *file,
			 const struct kabi_ucm_call *call)
{
	const struct rdma_ucm_create_id *cmd = call->cmd;
	struct rdma_ucm_create_id_resp resp;
	uint32_t cnt;
	int ret;

	ret = ucm_create(file, call, &resp.id);
	if (ret < 0)
		return ret;
	ret = kabi_user_put(cmd->response, &resp, sizeof(resp));
	if (ret < 0)
		kabi_rnic()->cm_destroy(file->chan, resp.id, &cnt);
	return ret;
}

static int ucm_destroy_id(struct kabi_ucm *file,
			  const struct kabi_ucm_call *call)
{
	const struct rdma_ucm_destroy_id *cmd = call->cmd;
	struct rdma_ucm_destroy_id_resp resp;
	int ret;

	ret = kabi_rnic()->cm_destroy(file->chan, cmd->id,
				      &resp.events_reported);
	if (ret < 0)
		return ret;
	return kabi_user_put(cmd->response, &resp, sizeof(resp));
}

static int ucm_migrate_id(struct kabi_ucm *file,
			  const struct kabi_ucm_call *call)
{
	const struct rdma_ucm_migrate_id *cmd = call->cmd;
	struct rdma_ucm_migrate_resp resp;
	struct util_fdtab *tab = kabi_rnic()->fdtab();
	struct util_file *from;
	uint32_t id;
	int ret;

	from = util_fdtab_get(tab, (int)cmd->fd, RNIC_FD_UCM);
	if (!from && util_fdtab_lookup(tab, (int)cmd->fd, NULL) == RNIC_FD_DEAD)
		return kabi_ucm_refuse(call, ENODEV,
				       "descriptor %d of the id's channel is "
				       "the parent process's",
				       (int)cmd->fd);
	if (!from && syscall(SYS_fcntl, (int)cmd->fd, F_GETFD) < 0)
		return -ENOENT;
	if (!from)
		return kabi_ucm_refuse(call, EINVAL,
				       "descriptor %d is no rdma_cm file",
				       (int)cmd->fd);
	ret = kabi_rnic()->cm_migrate(((struct kabi_ucm *)from)->chan, cmd->id,
				      file->chan, &id, &resp.events_reported);
	util_file_put(from);
	if (ret < 0)
		return ret;
	return kabi_user_put(cmd->response, &resp, sizeof(resp));
}

/* ---- addresses and routes ---------------------------------------------- */

static int ucm_bind_ip(struct kabi_ucm *file, const struct kabi_ucm_call *call)
{
	const struct rdma_ucm_bind_ip *cmd = call->cmd;
	struct sockaddr_storage addr = addr_copy(&cmd->addr, sizeof(cmd->addr));

	if (family_len(addr.ss_family) == 0)
		return refuse_family(call, &addr);
	return kabi_rnic()->cm_bind(file->chan, cmd->id,
				    (struct sockaddr *)&addr);
}

static int ucm_bind(struct kabi_ucm *file, const struct kabi_ucm_call *call)
{
	const struct rdma_ucm_bind *cmd = call->cmd;
	struct sockaddr_storage addr = addr_copy(&cmd->addr, sizeof(cmd->addr));

	if (cmd->reserved || !addr_size_is_right(&addr, cmd->addr_size))
		return refuse_family(call, &addr);
	return kabi_rnic()->cm_bind(file->chan, cmd->id,
				    (struct sockaddr *)&addr);
}

static int resolve(struct kabi_ucm *file, uint32_t id,
		   const struct sockaddr_storage *src,
		   const struct sockaddr_storage *dst, uint32_t timeout_ms)
{
	return kabi_rnic()->cm_resolve_addr(
		file->chan, id,
		src->ss_family ? (const struct sockaddr *)src : NULL,
		(const struct sockaddr *)dst, timeout_ms);
}

static int ucm_resolve_ip(struct kabi_ucm *file,
			  const struct kabi_ucm_call *call)
{
	const struct rdma_ucm_resolve_ip *cmd = call->cmd;
	struct sockaddr_storage src =
		addr_copy(&cmd->src_addr, sizeof(cmd->src_addr));
	struct sockaddr_storage dst =
		addr_copy(&cmd->dst_addr, sizeof(cmd->dst_addr));

	if (src.ss_family && family_len(src.ss_family) == 0)
		return refuse_family(call, &src);
	if (family_len(dst.ss_family) == 0)
		return refuse_family(call, &dst);
	return resolve(file, cmd->id, &src, &dst, cmd->timeout_ms);
}

static int ucm_resolve_addr(struct kabi_ucm *file,
			    const struct kabi_ucm_call *call)
{
	const struct rdma_ucm_resolve_addr *cmd = call->cmd;
	struct sockaddr_storage src =
		addr_copy(&cmd->src_addr, sizeof(cmd->src_addr));
	struct sockaddr_storage dst =
		addr_copy(&cmd->dst_addr, sizeof(cmd->dst_addr));

	if (cmd->reserved || !addr_size_is_right(&dst, cmd->dst_size))
		return refuse_family(call, &dst);
	if (cmd->src_size && !addr_size_is_right(&src, cmd->src_size))
		return refuse_family(call, &src);
	if (!cmd->src_size)
		src.ss_family = AF_UNSPEC;
	return resolve(file, cmd->id, &src, &dst, cmd->timeout_ms);
}

static int ucm_resolve_route(struct kabi_ucm *file,
			     const struct kabi_ucm_call *call)
{
	const struct rdma_ucm_resolve_route *cmd = call->cmd;

	return kabi_rnic()->cm_resolve_route(file->chan, cmd->id,
					     cmd->timeout_ms);
}

/* ---- connections ------------------------------------------------------- */

static void conn_param_decode(struct rnic_cm_conn_param *param,
			      const struct rdma_ucm_conn_param *conn)
{
	memset(param, 0, sizeof(*param));
	param->qp_num = conn->qp_num;
	param->ird = conn->responder_resources;
	param->ord = conn->initiator_depth;
	param->rnr_retry = conn->rnr_retry_count;
	param->pd_len = conn->private_data_len;
	memcpy(param->pd, conn->private_data, conn->private_data_len);
}

/*
 * rdma_create_qp() calls INIT_QP_ATTR, which is recorded.  Without that call
 * the QP is the application's own (id->qp is NULL).  Such programs follow
 * InfiniBand: they wait for CONNECT_RESPONSE, move the QP, and call
 * rdma_establish().  The kernel's iWARP manager reports ESTABLISHED instead and
 * accepts nothing after it, so these programs do not run there.
 */
static int ucm_connect(struct kabi_ucm *file, const struct kabi_ucm_call *call)
{
	const struct rdma_ucm_connect *cmd = call->cmd;
	struct rnic_cm_conn_param param;
	struct rnic_cm_info info;
	int ret;

	if (!cmd->conn_param.valid)
		return kabi_ucm_refuse(call, EINVAL,
				       "conn_param.valid is 0, for id %u",
				       cmd->id);
	ret = kabi_rnic()->cm_query(file->chan, cmd->id, &info);
	if (ret < 0)
		return ret;
	conn_param_decode(&param, &cmd->conn_param);
	param.wants_response = !info.has_qp;
	return kabi_rnic()->cm_connect(file->chan, cmd->id, &param);
}

static int ucm_listen(struct kabi_ucm *file, const struct kabi_ucm_call *call)
{
	const struct rdma_ucm_listen *cmd = call->cmd;

	return kabi_rnic()->cm_listen(file->chan, cmd->id, (int)cmd->backlog);
}

/*
 * The cookie is set first, because the ESTABLISHED event carries it and may be
 * fetched before this call returns.  If the accept fails the cookie remains,
 * which is harmless: it names the application's object for the identity.
 */
static int ucm_accept(struct kabi_ucm *file, const struct kabi_ucm_call *call)
{
	const struct rdma_ucm_accept *cmd = call->cmd;
	struct rnic_cm_conn_param param;
	int ret;

	/* Without parameters this is the third step of InfiniBand's
	 * handshake. */
	if (!cmd->conn_param.valid)
		return kabi_rnic()->cm_establish(file->chan, cmd->id);
	ret = kabi_rnic()->cm_set_uid(file->chan, cmd->id, cmd->uid);
	if (ret < 0)
		return ret;
	conn_param_decode(&param, &cmd->conn_param);
	return kabi_rnic()->cm_accept(file->chan, cmd->id, &param);
}

/* Reasons that rdma_reject() and rdma_reject_ece() give (IBTA 12.6.7.2). */
enum { REJ_CONSUMER_DEFINED = 28, REJ_VENDOR_OPTION = 35 };

static int ucm_reject(struct kabi_ucm *file, const struct kabi_ucm_call *call)
{
	const struct rdma_ucm_reject *cmd = call->cmd;

	if (cmd->reason && cmd->reason != REJ_CONSUMER_DEFINED &&
	    cmd->reason != REJ_VENDOR_OPTION)
		return kabi_ucm_refuse(call, EINVAL,
				       "reason is %u, not 0, 28 or 35, for "
				       "id %u",
				       cmd->reason, cmd->id);
	return kabi_rnic()->cm_reject(file->chan, cmd->id, cmd->private_data,
				      cmd->private_data_len);
}

static int ucm_disconnect(struct kabi_ucm *file,
			  const struct kabi_ucm_call *call)
{
	const struct rdma_ucm_disconnect *cmd = call->cmd;

	return kabi_rnic()->cm_disconnect(file->chan, cmd->id);
}

/* ---- options and the rest ---------------------------------------------- */

/* @size: 1 or 4 octets, and optlen must say exactly that. */
static int option_set(struct kabi_ucm *file, const struct kabi_ucm_call *call,
		      enum rnic_cm_option opt, size_t size)
{
	const struct rdma_ucm_set_option *cmd = call->cmd;
	uint8_t octet = 0;
	int32_t number = 0;
	int ret;

	if (cmd->optlen != size)
		return kabi_ucm_refuse(call, EINVAL,
				       "optname is %u, optlen %u, not %zu",
				       cmd->optname, cmd->optlen, size);
	if (size == sizeof(octet)) {
		ret = kabi_user_get(&octet, cmd->optval, sizeof(octet));
		number = octet;
	} else {
		ret = kabi_user_get(&number, cmd->optval, sizeof(number));
		number = number != 0;
	}
	if (ret < 0)
		return ret;
	return kabi_rnic()->cm_set_option(file->chan, cmd->id, opt,
					  (uint32_t)number);
}

static int refuse_option(const struct kabi_ucm_call *call)
{
	const struct rdma_ucm_set_option *cmd = call->cmd;

	return kabi_ucm_refuse(call, ENOSYS,
			       "level is %u, optname %u: usiw has TOS, "
			       "REUSEADDR, AFONLY and ACK_TIMEOUT of "
			       "RDMA_OPTION_ID",
			       cmd->level, cmd->optname);
}

static int ucm_set_option(struct kabi_ucm *file,
			  const struct kabi_ucm_call *call)
{
	const struct rdma_ucm_set_option *cmd = call->cmd;
	struct rnic_cm_info info;
	int ret = kabi_rnic()->cm_query(file->chan, cmd->id, &info);

	if (ret < 0)
		return ret;
	/* path records belong to InfiniBand */
	if (cmd->level != RDMA_OPTION_ID)
		return refuse_option(call);
	switch (cmd->optname) {
	case RDMA_OPTION_ID_TOS:
		return option_set(file, call, RNIC_CM_OPT_TOS, 1);
	case RDMA_OPTION_ID_REUSEADDR:
		return option_set(file, call, RNIC_CM_OPT_REUSEADDR, 4);
	case RDMA_OPTION_ID_AFONLY:
		return option_set(file, call, RNIC_CM_OPT_AFONLY, 4);
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		return option_set(file, call, RNIC_CM_OPT_ACK_TIMEOUT, 1);
	default:
		return refuse_option(call);
	}
}

/* The kernel has no such option, either. */
static int ucm_get_option(struct kabi_ucm *file,
			  const struct kabi_ucm_call *call)
{
	(void)file;
	return kabi_ucm_refuse(call, ENOSYS, "there are no options to get");
}

/* The addresses of an identity. */
#define INFO_NAME(info) UTIL_ADDR_PAIR_TEXT(&(info)->local, &(info)->peer)

/*
 * The application reports an asynchronous event of the QP to the manager.  Only
 * InfiniBand's manager uses it, to learn that the peer is connected.  usiw
 * learns that from the stream, so there is nothing to do.
 */
static int ucm_notify(struct kabi_ucm *file, const struct kabi_ucm_call *call)
{
	const struct rdma_ucm_notify *cmd = call->cmd;
	struct rnic_cm_info info;
	int ret = kabi_rnic()->cm_query(file->chan, cmd->id, &info);

	if (ret < 0)
		return ret;
	if (info.state < RNIC_CM_S_LISTEN) /* no manager has it yet */
		return kabi_ucm_refuse(call, EINVAL, "id %u%s does not connect",
				       cmd->id, INFO_NAME(&info));
	if (info.persona != RNIC_PERSONA_CA)
		return 0;
	if (cmd->event != EVENT_COMM_EST)
		return kabi_ucm_refuse(call, EINVAL,
				       "event is %u, not IBV_EVENT_COMM_EST, "
				       "for id %u%s",
				       cmd->event, cmd->id, INFO_NAME(&info));
	if (info.state == RNIC_CM_S_ESTABLISHED)
		return kabi_ucm_refuse(call, EISCONN,
				       "id %u%s is connected already", cmd->id,
				       INFO_NAME(&info));
	if (info.state != RNIC_CM_S_CONNECT || !info.peer_num)
		return kabi_ucm_refuse(call, EINVAL, "id %u%s was not accepted",
				       cmd->id, INFO_NAME(&info));
	return 0;
}

/* Commands since Linux 6.18, which older headers lack. */
enum { CMD_RESOLVE_IB_SERVICE = 23, CMD_WRITE_CM_EVENT = 24 };

struct ucm_ib_service {
	uint32_t id, reserved;
};

struct ucm_write_event {
	uint32_t id, reserved, event, status;
	uint8_t arg[RNIC_CM_ARG_SIZE]; /* the first of a longer union */
};

/* Services are in the table of the subnet administrator, which does not exist
 * here. */
static int ucm_resolve_ib_service(struct kabi_ucm *file,
				  const struct kabi_ucm_call *call)
{
	const struct ucm_ib_service *cmd = call->cmd;
	struct rnic_cm_info info;
	int ret = kabi_rnic()->cm_query(file->chan, cmd->id, &info);

	return ret < 0 ? ret
		       : kabi_ucm_refuse(call, EOPNOTSUPP,
					 "services are in the table of "
					 "InfiniBand's subnet administrator");
}

/* rdma_resolve_addrinfo() uses this to report to itself that the DNS was
 * asked. */
static int ucm_write_event(struct kabi_ucm *file,
			   const struct kabi_ucm_call *call)
{
	const struct ucm_write_event *cmd = call->cmd;

	return kabi_rnic()->cm_write_event(file->chan, cmd->id,
					   (enum rnic_cm_event_type)cmd->event,
					   (int)cmd->status, cmd->arg);
}

/* ---- the table --------------------------------------------------------- */

/* Length of a command up to and including a member. */
#define UPTO(type, member)                                                     \
	(offsetof(struct type, member) + sizeof(((struct type *)NULL)->member))

/* @call_name: what programs call, or librdmacm for them: "rdma_cm_query". */
#define COMMAND(word, call_name, handler_fn, in_size, out_size)                \
	[RDMA_USER_CM_CMD_##word] = { .name = (call_name),                     \
				      .handler = (handler_fn),                 \
				      .in_min = (in_size),                     \
				      .out_min = (out_size) }

static const struct {
	const char *name;
	ucm_handler handler;
	size_t in_min, out_min;
} commands[] = {
	COMMAND(CREATE_ID, "rdma_create_id", ucm_create_id,
		sizeof(struct rdma_ucm_create_id),
		sizeof(struct rdma_ucm_create_id_resp)),
	COMMAND(DESTROY_ID, "rdma_destroy_id", ucm_destroy_id,
		sizeof(struct rdma_ucm_destroy_id),
		sizeof(struct rdma_ucm_destroy_id_resp)),
	COMMAND(BIND_IP, "rdma_bind_addr", ucm_bind_ip,
		UPTO(rdma_ucm_bind_ip, id), 0),
	COMMAND(RESOLVE_IP, "rdma_resolve_addr", ucm_resolve_ip,
		sizeof(struct rdma_ucm_resolve_ip), 0),
	COMMAND(RESOLVE_ROUTE, "rdma_resolve_route", ucm_resolve_route,
		sizeof(struct rdma_ucm_resolve_route), 0),
	COMMAND(QUERY_ROUTE, "rdma_cm_query", kabi_ucm_query_route,
		sizeof(struct rdma_ucm_query),
		offsetof(struct rdma_ucm_query_route_resp, ibdev_index)),
	COMMAND(CONNECT, "rdma_connect", ucm_connect,
		UPTO(rdma_ucm_connect, reserved), 0),
	COMMAND(LISTEN, "rdma_listen", ucm_listen,
		sizeof(struct rdma_ucm_listen), 0),
	COMMAND(ACCEPT, "rdma_accept", ucm_accept,
		UPTO(rdma_ucm_accept, reserved), 0),
	COMMAND(REJECT, "rdma_reject", ucm_reject,
		sizeof(struct rdma_ucm_reject), 0),
	COMMAND(DISCONNECT, "rdma_disconnect", ucm_disconnect,
		sizeof(struct rdma_ucm_disconnect), 0),
	COMMAND(INIT_QP_ATTR, "rdma_init_qp_attr", kabi_ucm_init_qp_attr,
		sizeof(struct rdma_ucm_init_qp_attr),
		sizeof(struct ib_uverbs_qp_attr)),
	COMMAND(GET_EVENT, "rdma_get_cm_event", kabi_ucm_get_event,
		sizeof(struct rdma_ucm_get_event), KABI_UCM_EVENT_MIN),
	COMMAND(GET_OPTION, "rdma_get_option", ucm_get_option, 0, 0),
	COMMAND(SET_OPTION, "rdma_set_option", ucm_set_option,
		sizeof(struct rdma_ucm_set_option), 0),
	COMMAND(NOTIFY, "rdma_notify", ucm_notify,
		sizeof(struct rdma_ucm_notify), 0),
	COMMAND(JOIN_IP_MCAST, "rdma_join_multicast", kabi_ucm_join_ip_mcast,
		UPTO(rdma_ucm_join_ip_mcast, id),
		sizeof(struct rdma_ucm_create_id_resp)),
	COMMAND(LEAVE_MCAST, "rdma_leave_multicast", kabi_ucm_leave_mcast,
		sizeof(struct rdma_ucm_destroy_id),
		sizeof(struct rdma_ucm_destroy_id_resp)),
	COMMAND(MIGRATE_ID, "rdma_migrate_id", ucm_migrate_id,
		sizeof(struct rdma_ucm_migrate_id),
		sizeof(struct rdma_ucm_migrate_resp)),
	COMMAND(QUERY, "rdma_cm_query", kabi_ucm_query,
		sizeof(struct rdma_ucm_query), 0),
	COMMAND(BIND, "rdma_bind_addr", ucm_bind, sizeof(struct rdma_ucm_bind),
		0),
	COMMAND(RESOLVE_ADDR, "rdma_resolve_addr", ucm_resolve_addr,
		sizeof(struct rdma_ucm_resolve_addr), 0),
	COMMAND(JOIN_MCAST, "rdma_join_multicast", kabi_ucm_join_mcast,
		sizeof(struct rdma_ucm_join_mcast),
		sizeof(struct rdma_ucm_create_id_resp)),
	[CMD_RESOLVE_IB_SERVICE] = { .name = "rdma_resolve_addrinfo",
				     .handler = ucm_resolve_ib_service,
				     .in_min = sizeof(struct ucm_ib_service) },
	[CMD_WRITE_CM_EVENT] = { .name = "rdma_write_cm_event",
				 .handler = ucm_write_event,
				 .in_min = sizeof(struct ucm_write_event) },
};

#define COMMAND_CNT (sizeof(commands) / sizeof(commands[0]))

/* Without a rule of USIW_FAULT for its call, the handler does it. */
static int command_do(struct kabi_ucm *file, uint32_t cmd,
		      const struct kabi_ucm_call *call)
{
	bool is_traced = kabi_ucm_is_traced();
	uint64_t began_ns = is_traced ? util_now_ns() : 0;
	int ret = kabi_rnic()->fault_call(call->name, NULL);

	if (ret == 0)
		ret = commands[cmd].handler(file, call);
	if (is_traced)
		kabi_ucm_trace(cmd, call, began_ns, ret);
	return ret;
}

_Static_assert(sizeof(struct rdma_ucm_accept) <= UCM_CMD_MAX &&
		       sizeof(struct rdma_ucm_resolve_addr) <= UCM_CMD_MAX,
	       "every command fits");

#define FILE_NAME "/dev/infiniband/rdma_cm"

static int refuse_octets(size_t len)
{
	return util_refuse("cm", EINVAL, FILE_NAME,
			   "write() of %zu octets, fewer than a command's "
			   "header",
			   len);
}

static int refuse_command(const struct rdma_ucm_cmd_hdr *hdr, size_t len)
{
	return util_refuse("cm", EINVAL, FILE_NAME,
			   "command %u, in %u octets of %zu, is not known, or "
			   "has more",
			   hdr->cmd, hdr->in, len);
}

ssize_t kabi_ucm_write(struct util_file *file, const void *buf, size_t len)
{
	/* Aligned for any command. */
	uint64_t copy[UCM_CMD_MAX / sizeof(uint64_t)] = { 0 };
	struct kabi_ucm_call call = { .cmd = copy };
	uint64_t user = (uintptr_t)buf;
	struct rdma_ucm_cmd_hdr hdr;
	size_t in;
	int ret;

	if (len < sizeof(hdr))
		return refuse_octets(len);
	ret = kabi_user_get(&hdr, user, sizeof(hdr));
	if (ret < 0)
		return ret;
	if (hdr.cmd >= COMMAND_CNT || hdr.in > len - sizeof(hdr) ||
	    hdr.in < commands[hdr.cmd].in_min)
		return refuse_command(&hdr, len);
	call.name = commands[hdr.cmd].name;
	call.out = hdr.out;
	if (call.out < commands[hdr.cmd].out_min)
		return kabi_ucm_refuse_room(&call, commands[hdr.cmd].out_min);
	in = hdr.in < sizeof(copy) ? hdr.in : sizeof(copy);
	ret = kabi_user_get(copy, user + sizeof(hdr), in);
	if (ret < 0)
		return ret;
	ret = command_do((struct kabi_ucm *)file, hdr.cmd, &call);
	/* The handlers find everything by number. */
	if (ret == -ENOENT)
		return kabi_ucm_refuse(&call, ENOENT,
				       "the channel has no such id or group");
	return ret < 0 ? ret : (ssize_t)len;
}

/* ---- the file ---------------------------------------------------------- */

static void ucm_close(struct util_file *file)
{
	kabi_rnic()->cm_chan_close(((struct kabi_ucm *)file)->chan);
}

static void ucm_free(struct util_file *file)
{
	kabi_rnic()->cm_chan_free(((struct kabi_ucm *)file)->chan);
	free(file);
}

/* Makes a descriptor for the application, because the channel's own blocks. */
static int ucm_share(const struct kabi_ucm *ucm, int flags)
{
	int cmd = flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD;
	int fd = kabi_rnic()->cm_chan_fd(ucm->chan);

	if ((flags & O_NONBLOCK) &&
	    syscall(SYS_fcntl, fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
		return -errno;
	fd = (int)syscall(SYS_fcntl, fd, cmd, 0);
	return fd < 0 ? -errno : fd;
}

int kabi_ucm_open(int flags)
{
	struct kabi_ucm *ucm = calloc(1, sizeof(*ucm));
	int ret, fd;

	if (!ucm)
		return util_refuse_memory("cm", "rdma_create_event_channel");
	util_file_init(&ucm->file, ucm_close, ucm_free);
	ret = kabi_rnic()->cm_chan_new(&ucm->chan);
	if (ret < 0) {
		free(ucm);
		return ret;
	}
	kabi_rnic()->cm_chan_set_file(ucm->chan, &ucm->file);
	fd = ret = ucm_share(ucm, flags);
	if (fd >= 0)
		ret = util_fdtab_install(kabi_rnic()->fdtab(), fd, RNIC_FD_UCM,
					 &ucm->file);
	if (fd >= 0 && ret < 0)
		util_sys_close(fd);
	util_file_put(&ucm->file);
	return ret < 0 ? ret : fd;
}
