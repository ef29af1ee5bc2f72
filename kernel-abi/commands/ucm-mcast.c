/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Multicast groups, in the words of the rdma_cm file. */
#include "commands/ucm-mcast.h"

#include <errno.h>
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>
#include <string.h>

#include "base/rnic-dl.h"
#include "base/user.h"

static int join(struct kabi_ucm *file, const struct rdma_ucm_join_mcast *cmd)
{
	struct rdma_ucm_create_id_resp resp;
	struct sockaddr_storage addr;
	uint32_t cnt;
	int ret;

	memset(&addr, 0, sizeof(addr));
	memcpy(&addr, &cmd->addr,
	       sizeof(cmd->addr) < sizeof(addr) ? sizeof(cmd->addr)
						: sizeof(addr));
	ret = kabi_rnic()->cm_join(file->chan, cmd->id,
				   (struct sockaddr *)&addr, cmd->addr_size,
				   cmd->uid, &resp.id);
	if (ret < 0)
		return ret;
	ret = kabi_user_put(cmd->response, &resp, sizeof(resp));
	if (ret < 0)
		kabi_rnic()->cm_leave(file->chan, resp.id, &cnt);
	return ret;
}

/* Who only sends does not attach a QP; that is librdmacm's. */
int kabi_ucm_join_mcast(struct kabi_ucm *file, const struct kabi_ucm_call *call)
{
	const struct rdma_ucm_join_mcast *cmd = call->cmd;

	if (cmd->join_flags != RDMA_MC_JOIN_FLAG_FULLMEMBER &&
	    cmd->join_flags != RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER)
		return kabi_ucm_refuse(call, EINVAL,
				       "join_flags is %u, not full or "
				       "send-only full membership, for id %u",
				       cmd->join_flags, cmd->id);
	return join(file, cmd);
}

int kabi_ucm_join_ip_mcast(struct kabi_ucm *file,
			   const struct kabi_ucm_call *call)
{
	const struct rdma_ucm_join_ip_mcast *cmd = call->cmd;
	struct rdma_ucm_join_mcast with_size = {
		.response = cmd->response,
		.uid = cmd->uid,
		.id = cmd->id,
	};

	memcpy(&with_size.addr, &cmd->addr, sizeof(cmd->addr));
	if (cmd->addr.sin6_family == AF_INET)
		with_size.addr_size = sizeof(struct sockaddr_in);
	else if (cmd->addr.sin6_family == AF_INET6)
		with_size.addr_size = sizeof(struct sockaddr_in6);
	return join(file, &with_size);
}

int kabi_ucm_leave_mcast(struct kabi_ucm *file,
			 const struct kabi_ucm_call *call)
{
	const struct rdma_ucm_destroy_id *cmd = call->cmd;
	struct rdma_ucm_destroy_id_resp resp;
	int ret;

	ret = kabi_rnic()->cm_leave(file->chan, cmd->id, &resp.events_reported);
	if (ret < 0)
		return ret;
	return kabi_user_put(cmd->response, &resp, sizeof(resp));
}
