/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Answers of the rdma_cm file about an identity. */
#include "commands/ucm-query.h"

#include <errno.h>
#include <rdma/rdma_user_cm.h>
#include <stddef.h>
#include <string.h>

#include "util/addr-text.h"
#include "base/rnic-dl.h"
#include "commands/ucm-path.h"
#include "base/user.h"

/* libibverbs has no index for devices it found in sysfs: match by GUID. */
#define IBDEV_INDEX_UNKNOWN UINT32_MAX
/* A family of its own in <linux/socket.h>; older headers lack it. */
#define FAMILY_IB 27

/* struct sockaddr_ib of the kernel, which has no UAPI header. */
struct sockaddr_gid {
	uint16_t family;
	uint16_t pkey_be;
	uint32_t flowinfo_be;
	uint8_t gid[16];
	uint64_t sid_be;
	uint64_t sid_mask_be;
	uint64_t scope_id;
};

_Static_assert(sizeof(struct sockaddr_gid) == 48, "layout of sockaddr_ib");

static size_t min_len(size_t a, size_t b)
{
	return a < b ? a : b;
}

static socklen_t addr_len(const struct sockaddr_storage *addr)
{
	switch (addr->ss_family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	default:
		return 0;
	}
}

/* The GUID of the identity's device; 0: it has none yet. */
static int info_guid(const struct kabi_ucm_call *call,
		     const struct rnic_cm_info *info, __u64 *ret_guid_be)
{
	struct rnic_device_attr attr;
	int ret;

	*ret_guid_be = 0;
	if (!info->dev)
		return 0;
	ret = kabi_ucm_device(call, info->dev, &attr);
	if (ret == 0)
		*ret_guid_be = attr.guid_be;
	return ret;
}

/* Fills in the GIDs if there is no path record; a RNIC never has one. */
int kabi_ucm_query_route(struct kabi_ucm *file,
			 const struct kabi_ucm_call *call)
{
	const struct rdma_ucm_query *cmd = call->cmd;
	struct rdma_ucm_query_route_resp resp;
	struct rnic_cm_info info;
	int ret;

	ret = kabi_rnic()->cm_query(file->chan, cmd->id, &info);
	if (ret < 0)
		return ret;
	memset(&resp, 0, sizeof(resp));
	ret = info_guid(call, &info, &resp.node_guid);
	if (ret < 0)
		return ret;
	memcpy(&resp.src_addr, &info.local, addr_len(&info.local));
	memcpy(&resp.dst_addr, &info.peer, addr_len(&info.peer));
	if (info.dev) {
		resp.port_num = KABI_UCM_PORT;
		resp.ibdev_index = IBDEV_INDEX_UNKNOWN;
		ret = kabi_ucm_route(call, &info, &resp);
	}
	if (ret < 0)
		return ret;
	return kabi_user_put(cmd->response, &resp,
			     min_len(call->out, sizeof(resp)));
}

static int query_head(const struct kabi_ucm_call *call,
		      const struct rnic_cm_info *info,
		      struct rdma_ucm_query_addr_resp *resp)
{
	memset(resp, 0, sizeof(*resp));
	if (!info->dev)
		return 0;
	resp->port_num = KABI_UCM_PORT;
	resp->ibdev_index = IBDEV_INDEX_UNKNOWN;
	return info_guid(call, info, &resp->node_guid);
}

static int query_addr(const struct rnic_cm_info *info,
		      struct rdma_ucm_query_addr_resp *resp)
{
	resp->src_size = (__u16)addr_len(&info->local);
	memcpy(&resp->src_addr, &info->local, resp->src_size);
	resp->dst_size = (__u16)addr_len(&info->peer);
	memcpy(&resp->dst_addr, &info->peer, resp->dst_size);
	return 0;
}

static int query_gid(const struct rnic_cm_info *info,
		     struct rdma_ucm_query_addr_resp *resp)
{
	struct sockaddr_gid gid = { .family = FAMILY_IB };

	kabi_ucm_gid(&info->local, gid.gid);
	gid.sid_be = kabi_ucm_sid_be(&info->local, info->ud_ps);
	resp->src_size = sizeof(gid);
	memcpy(&resp->src_addr, &gid, sizeof(gid));
	kabi_ucm_gid(&info->peer, gid.gid);
	gid.sid_be = kabi_ucm_sid_be(&info->peer, info->ud_ps);
	resp->dst_size = sizeof(gid);
	memcpy(&resp->dst_addr, &gid, sizeof(gid));
	return 0;
}

static int query_two_addrs(const struct rnic_cm_info *info,
			   const struct kabi_ucm_call *call,
			   int (*fill)(const struct rnic_cm_info *info,
				       struct rdma_ucm_query_addr_resp *resp))
{
	const struct rdma_ucm_query *cmd = call->cmd;
	struct rdma_ucm_query_addr_resp resp;
	int ret;

	if (call->out < offsetof(struct rdma_ucm_query_addr_resp, ibdev_index))
		return kabi_ucm_refuse_room(
			call,
			offsetof(struct rdma_ucm_query_addr_resp, ibdev_index));
	ret = query_head(call, info, &resp);
	if (ret == 0)
		ret = fill(info, &resp);
	if (ret < 0)
		return ret;
	return kabi_user_put(cmd->response, &resp,
			     min_len(call->out, sizeof(resp)));
}

int kabi_ucm_query(struct kabi_ucm *file, const struct kabi_ucm_call *call)
{
	const struct rdma_ucm_query *cmd = call->cmd;
	struct rnic_cm_info info;
	int ret;

	ret = kabi_rnic()->cm_query(file->chan, cmd->id, &info);
	if (ret < 0)
		return ret;
	switch (cmd->option) {
	case RDMA_USER_CM_QUERY_ADDR:
		return query_two_addrs(&info, call, query_addr);
	case RDMA_USER_CM_QUERY_PATH:
		return kabi_ucm_query_path(&info, call);
	case RDMA_USER_CM_QUERY_GID:
		return query_two_addrs(&info, call, query_gid);
	default:
		return kabi_ucm_refuse(call, ENOSYS,
				       "option is %u, not an address, a path "
				       "or a GID",
				       cmd->option);
	}
}

/* ---- INIT_QP_ATTR ------------------------------------------------------ */

/* Numbers of <infiniband/verbs.h>, which this module does not include. */
enum {
	QP_ATTR_STATE = 1 << 0,
	QP_ATTR_ACCESS_FLAGS = 1 << 3,
	QP_ATTR_PKEY_INDEX = 1 << 4,
	QP_ATTR_PORT = 1 << 5,
	QP_ATTR_QKEY = 1 << 6,
	QP_ATTR_AV = 1 << 7,
	QP_ATTR_PATH_MTU = 1 << 8,
	QP_ATTR_TIMEOUT = 1 << 9,
	QP_ATTR_RETRY_CNT = 1 << 10,
	QP_ATTR_RNR_RETRY = 1 << 11,
	QP_ATTR_RQ_PSN = 1 << 12,
	QP_ATTR_MAX_QP_RD_ATOMIC = 1 << 13,
	QP_ATTR_MIN_RNR_TIMER = 1 << 15,
	QP_ATTR_SQ_PSN = 1 << 16,
	QP_ATTR_MAX_DEST_RD_ATOMIC = 1 << 17,
	QP_ATTR_DEST_QPN = 1 << 20,
	QPS_INIT = 1,
	QPS_RTR = 2,
	QPS_RTS = 3,
	/* The kernel leaves out atomics, because its iWARP hardware has
	 * none. */
	ACCESS_REMOTE = RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ |
			RNIC_ACCESS_REMOTE_ATOMIC,
};

enum { RETRY_MOST = 7 };

/*
 * The answer of the kernel's iWARP manager.  librdmacm moves the QP by it on
 * every transport, but a RNIC's QP stays IDLE until CONNECT or ACCEPT.
 */
static bool qp_attr_of_rnic(uint32_t state, struct ib_uverbs_qp_attr *resp)
{
	switch (state) {
	case QPS_INIT:
	case QPS_RTR:
		resp->qp_attr_mask = QP_ATTR_STATE | QP_ATTR_ACCESS_FLAGS;
		resp->qp_access_flags = ACCESS_REMOTE;
		return true;
	case QPS_RTS:
		return true;
	default:
		return false;
	}
}

static uint8_t gid_index_of(const struct rnic_device_attr *dev,
			    const struct sockaddr_storage *addr)
{
	uint8_t gid[16];

	kabi_ucm_gid(addr, gid);
	for (uint32_t i = 0; i < dev->gid_cnt; i++)
		if (memcmp(dev->gid[i], gid, sizeof(gid)) == 0)
			return (uint8_t)i;
	return 0;
}

/* The peer's address, and a number that tells the provider that rdma_cm makes
 * the QP's stream. */
static int qp_attr_rtr(const struct kabi_ucm_call *call,
		       const struct rnic_cm_info *info,
		       struct ib_uverbs_qp_attr *resp)
{
	struct rnic_device_attr dev;
	uint8_t dgid[16];
	int ret = kabi_ucm_device(call, info->dev, &dev);

	if (ret < 0)
		return ret;
	resp->qp_attr_mask = QP_ATTR_STATE | QP_ATTR_AV | QP_ATTR_PATH_MTU |
			     QP_ATTR_DEST_QPN | QP_ATTR_RQ_PSN |
			     QP_ATTR_MAX_DEST_RD_ATOMIC | QP_ATTR_MIN_RNR_TIMER;
	kabi_ucm_gid(&info->peer, dgid);
	kabi_ucm_ah(&resp->ah_attr, dgid, gid_index_of(&dev, &info->local),
		    info->tos);
	resp->path_mtu = kabi_ucm_mtu(dev.mtu);
	resp->dest_qp_num = info->peer_num;
	resp->max_dest_rd_atomic = info->ird;
	return 0;
}

static void qp_attr_rts(const struct rnic_cm_info *info,
			struct ib_uverbs_qp_attr *resp)
{
	resp->qp_attr_mask = QP_ATTR_STATE | QP_ATTR_SQ_PSN | QP_ATTR_TIMEOUT |
			     QP_ATTR_RETRY_CNT | QP_ATTR_RNR_RETRY |
			     QP_ATTR_MAX_QP_RD_ATOMIC;
	resp->timeout = info->ack_timeout ? info->ack_timeout
					  : KABI_UCM_TIMEOUT;
	resp->retry_cnt = RETRY_MOST;
	resp->rnr_retry = RETRY_MOST;
	resp->max_rd_atomic = info->ord;
}

static int refuse_state(const struct kabi_ucm_call *call,
			const struct rnic_cm_info *info)
{
	const struct rdma_ucm_init_qp_attr *cmd = call->cmd;

	return kabi_ucm_refuse(call, EINVAL,
			       "qp_state is %u, none of INIT, RTR and RTS, or "
			       "too early: id %u%s",
			       cmd->qp_state, cmd->id,
			       UTIL_ADDR_PAIR_TEXT(&info->local, &info->peer));
}

/* Like InfiniBand's manager: RTR and RTS after the peer's message. */
static int qp_attr_of_ca(const struct kabi_ucm_call *call,
			 const struct rnic_cm_info *info, uint32_t state,
			 struct ib_uverbs_qp_attr *resp)
{
	if (state == QPS_INIT) {
		resp->qp_attr_mask = QP_ATTR_STATE | QP_ATTR_ACCESS_FLAGS |
				     QP_ATTR_PKEY_INDEX | QP_ATTR_PORT;
		resp->qp_access_flags = ACCESS_REMOTE;
		return 0;
	}
	if (!info->peer_num || (state != QPS_RTR && state != QPS_RTS))
		return refuse_state(call, info);
	if (state == QPS_RTR)
		return qp_attr_rtr(call, info, resp);
	qp_attr_rts(info, resp);
	return 0;
}

/* Like InfiniBand's manager, which says the same for each state. */
static bool qp_attr_of_ud(uint32_t state, struct ib_uverbs_qp_attr *resp)
{
	if (state < QPS_INIT || state > QPS_RTS)
		return false;
	resp->qp_attr_mask = QP_ATTR_STATE | QP_ATTR_PKEY_INDEX | QP_ATTR_PORT |
			     QP_ATTR_QKEY;
	resp->qkey = RNIC_CM_QKEY;
	return true;
}

static int qp_attr_fill(const struct kabi_ucm_call *call,
			const struct rnic_cm_info *info, uint32_t state,
			struct ib_uverbs_qp_attr *resp)
{
	bool is_known;

	if (!info->ud_ps && info->persona == RNIC_PERSONA_CA)
		return qp_attr_of_ca(call, info, state, resp);
	is_known = info->ud_ps ? qp_attr_of_ud(state, resp)
			       : qp_attr_of_rnic(state, resp);
	return is_known ? 0 : refuse_state(call, info);
}

int kabi_ucm_init_qp_attr(struct kabi_ucm *file,
			  const struct kabi_ucm_call *call)
{
	const struct rdma_ucm_init_qp_attr *cmd = call->cmd;
	struct ib_uverbs_qp_attr resp;
	struct rnic_cm_info info;
	int ret;

	ret = kabi_rnic()->cm_query(file->chan, cmd->id, &info);
	if (ret < 0)
		return ret;
	if (!info.dev)
		return kabi_ucm_refuse(call, EINVAL,
				       "id %u is bound to no device", cmd->id);
	memset(&resp, 0, sizeof(resp));
	ret = qp_attr_fill(call, &info, cmd->qp_state, &resp);
	if (ret == 0 && cmd->qp_state == QPS_INIT)
		ret = kabi_rnic()->cm_note_qp(file->chan, cmd->id);
	if (ret < 0)
		return ret;
	resp.qp_state = cmd->qp_state;
	resp.port_num = KABI_UCM_PORT;
	return kabi_user_put(cmd->response, &resp, sizeof(resp));
}
