/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The path of an identity as InfiniBand describes it.  A RNIC has none.  With
 * persona ca there is one as soon as the route is resolved, because programs
 * for InfiniBand read id->route.path_rec without checking that it exists.
 */
#include "commands/ucm-path.h"

#include <endian.h>
#include <errno.h>
#include <rdma/ib_user_sa.h>
#include <stddef.h>
#include <string.h>

#include "base/rnic-dl.h"
#include "base/user.h"

/* Numbers of InfiniBand's management (IBTA 15.2.5.16, 3.5.3). */
enum {
	PKEY_DEFAULT = 0xffff,
	MTU_256 = 1,
	MTU_4096 = 5,
	SELECT_EXACTLY = 2,
	RATE_10G = 3,
	/* the time-out of a QP covers a way there and back */
	LIFETIME = KABI_UCM_TIMEOUT - 1,
	PATH_CNT = 1,
	SID_TCP = 0x0106, /* the TCP port space */
};

/* A path record as managers exchange it. */
struct path_packed {
	uint64_t service_id_be;
	uint8_t dgid[16], sgid[16];
	uint16_t dlid_be, slid_be;
	uint32_t flow_hop_be; /* flow label << 8 | hop limit */
	uint8_t tclass;
	uint8_t reversible_cnt; /* reversible << 7 | number of paths */
	uint16_t pkey_be;
	uint16_t qos_sl_be;
	uint8_t mtu, rate, lifetime; /* selector << 6 | value */
	uint8_t preference;
	uint8_t reserved[6];
};

_Static_assert(sizeof(struct path_packed) ==
		       sizeof(((struct ib_path_rec_data *)NULL)->path_rec),
	       "a path record has 64 octets");

/* struct rdma_ucm_query_path_resp, with room for one. */
struct path_answer {
	uint32_t num_paths, reserved;
	struct ib_path_rec_data path;
};

_Static_assert(offsetof(struct path_answer, path) ==
		       sizeof(struct rdma_ucm_query_path_resp),
	       "layout of the answer");

void kabi_ucm_gid(const struct sockaddr_storage *addr, void *gid)
{
	switch (addr->ss_family) {
	case AF_INET:
		rnic_gid_from_ip(gid, AF_INET,
				 &((const struct sockaddr_in *)addr)->sin_addr);
		break;
	case AF_INET6:
		rnic_gid_from_ip(
			gid, AF_INET6,
			&((const struct sockaddr_in6 *)addr)->sin6_addr);
		break;
	default:
		memset(gid, 0, 16);
		break;
	}
}

uint32_t kabi_ucm_mtu(uint32_t octets)
{
	uint32_t mtu = MTU_256;

	while (mtu < MTU_4096 && octets >= 256u << mtu)
		mtu++;
	return mtu;
}

uint64_t kabi_ucm_sid_be(const struct sockaddr_storage *addr, uint16_t ud_ps)
{
	uint64_t ps = ud_ps ? ud_ps : SID_TCP;
	uint16_t port_be = 0;

	if (addr->ss_family == AF_INET)
		port_be = ((const struct sockaddr_in *)addr)->sin_port;
	else if (addr->ss_family == AF_INET6)
		port_be = ((const struct sockaddr_in6 *)addr)->sin6_port;
	else
		return 0;
	return htobe64(ps << 16 | be16toh(port_be));
}

void kabi_ucm_ah(struct ib_uverbs_ah_attr *ah, const uint8_t dgid[16],
		 uint8_t gid_idx, uint8_t tclass)
{
	memcpy(ah->grh.dgid, dgid, sizeof(ah->grh.dgid));
	ah->grh.sgid_index = gid_idx;
	ah->grh.hop_limit = KABI_UCM_HOP_LIMIT;
	ah->grh.traffic_class = tclass;
	ah->is_global = 1;
	ah->port_num = KABI_UCM_PORT;
}

/* True after the route is resolved, or after the peer has connected. */
static bool info_has_path(const struct rnic_cm_info *info)
{
	if (!info->dev || info->persona != RNIC_PERSONA_CA)
		return false;
	switch (info->state) {
	case RNIC_CM_S_IDLE:
	case RNIC_CM_S_BOUND:
	case RNIC_CM_S_ADDR:
	case RNIC_CM_S_LISTEN:
		return false;
	case RNIC_CM_S_ROUTE:
	case RNIC_CM_S_CONNECT:
	case RNIC_CM_S_REQUEST:
	case RNIC_CM_S_ESTABLISHED:
	case RNIC_CM_S_DISCONNECT:
		return true;
	}
	return false;
}

int kabi_ucm_device(const struct kabi_ucm_call *call,
		    const struct rnic_device *dev,
		    struct rnic_device_attr *ret_attr)
{
	int ret = kabi_rnic()->device_query(dev, ret_attr);

	return ret < 0 ? kabi_ucm_refuse(call, -ret,
					 "the interfaces cannot be listed by "
					 "rtnetlink")
		       : 0;
}

/* LIDs, flow label and service level stay 0: Ethernet does not have them. */
static int path_fill(const struct kabi_ucm_call *call,
		     const struct rnic_cm_info *info,
		     struct ib_user_path_rec *path)
{
	struct rnic_device_attr dev;
	int ret = kabi_ucm_device(call, info->dev, &dev);

	if (ret < 0)
		return ret;
	kabi_ucm_gid(&info->local, path->sgid);
	kabi_ucm_gid(&info->peer, path->dgid);
	path->pkey = htobe16(PKEY_DEFAULT);
	path->reversible = 1;
	path->numb_path = PATH_CNT;
	path->hop_limit = KABI_UCM_HOP_LIMIT;
	path->traffic_class = info->tos;
	path->mtu_selector = SELECT_EXACTLY;
	path->mtu = kabi_ucm_mtu(dev.mtu);
	path->rate_selector = SELECT_EXACTLY;
	path->rate = RATE_10G;
	path->packet_life_time_selector = SELECT_EXACTLY;
	path->packet_life_time = info->ack_timeout ? info->ack_timeout - 1
						   : LIFETIME;
	return 0;
}

int kabi_ucm_route(const struct kabi_ucm_call *call,
		   const struct rnic_cm_info *info,
		   struct rdma_ucm_query_route_resp *resp)
{
	struct ib_user_path_rec *path = &resp->ib_route[0];

	if (info_has_path(info)) {
		resp->num_paths = PATH_CNT;
		return path_fill(call, info, path);
	}
	kabi_ucm_gid(&info->local, path->sgid);
	kabi_ucm_gid(&info->peer, path->dgid);
	if (info->persona == RNIC_PERSONA_CA)
		path->pkey = htobe16(PKEY_DEFAULT);
	return 0;
}

static void path_pack(struct path_packed *packed,
		      const struct ib_user_path_rec *path, uint64_t sid_be)
{
	memset(packed, 0, sizeof(*packed));
	packed->service_id_be = sid_be;
	memcpy(packed->dgid, path->dgid, sizeof(packed->dgid));
	memcpy(packed->sgid, path->sgid, sizeof(packed->sgid));
	packed->flow_hop_be = htobe32(path->hop_limit);
	packed->tclass = path->traffic_class;
	packed->reversible_cnt = 1u << 7 | path->numb_path;
	packed->pkey_be = path->pkey;
	packed->mtu = (uint8_t)(path->mtu_selector << 6 | path->mtu);
	packed->rate = (uint8_t)(path->rate_selector << 6 | path->rate);
	packed->lifetime = (uint8_t)(path->packet_life_time_selector << 6 |
				     path->packet_life_time);
}

/* If the buffer is too small for the record, it gets the number of records
 * only. */
int kabi_ucm_query_path(const struct rnic_cm_info *info,
			const struct kabi_ucm_call *call)
{
	const struct rdma_ucm_query *cmd = call->cmd;
	struct path_answer resp;
	struct ib_user_path_rec path = { .numb_path = 0 };
	struct path_packed packed;
	size_t len = sizeof(struct rdma_ucm_query_path_resp);
	int ret;

	if (call->out < len)
		return kabi_ucm_refuse_room(call, len);
	memset(&resp, 0, sizeof(resp));
	if (info_has_path(info)) {
		ret = path_fill(call, info, &path);
		if (ret < 0)
			return ret;
		path_pack(&packed, &path,
			  kabi_ucm_sid_be(&info->peer, info->ud_ps));
		resp.num_paths = PATH_CNT;
		resp.path.flags = IB_PATH_GMP | IB_PATH_PRIMARY |
				  IB_PATH_BIDIRECTIONAL;
		memcpy(resp.path.path_rec, &packed, sizeof(packed));
		if (call->out >= sizeof(resp))
			len = sizeof(resp);
	}
	return kabi_user_put(cmd->response, &resp, len);
}
