/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Multicast groups.  The UDP socket of the process joins a group on the
 * interface of the first QP that is attached to it there, and leaves it with
 * the last one.  The sockets are open as long as there are UD QPs.
 */
#include "group.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "util/lock.h"
#include "util/log.h"
#include "util/reason.h"
#include "dev/device.h"
#include "mem/context.h"
#include "os/tcp.h"
#include "qp/qp.h"
#include "qp/transport.h"
#include "udp-send.h"

#define LIST_CNT 32u

/* A QP is attached. */
struct member {
	LIST_ENTRY(member) link;
	struct sib_gid mgid;
	uint32_t ifindex;
	uint32_t num;
	const struct rnic_context *ctx;
};

LIST_HEAD(member_list, member);

/*
 * A change of a socket's groups may take the kernel long: it is under
 * change_lock, and leaders, which look for members, do not wait for it.  Lists
 * change under both locks.
 */
static struct util_lock change_lock = UTIL_LOCK_INIT(UTIL_RANK_DEVICE);
static struct util_lock group_lock = UTIL_LOCK_INIT(UTIL_RANK_LEAF);
static struct member_list groups[LIST_CNT]; /* by the last octet */

static struct member_list *list_of(const struct sib_gid *mgid)
{
	return &groups[mgid->raw[15] % LIST_CNT];
}

static bool is_in(const struct member *member, const struct sib_gid *mgid,
		  uint32_t ifindex)
{
	return member->ifindex == ifindex &&
	       memcmp(&member->mgid, mgid, sizeof(*mgid)) == 0;
}

uint32_t rnic_group_members(const struct sib_gid *mgid, uint32_t ifindex,
			    uint32_t ret_num[RNIC_GROUP_QP_MAX])
{
	const struct member *member;
	uint32_t cnt = 0;

	util_lock(&group_lock);
	LIST_FOREACH(member, list_of(mgid), link)
	{
		if (is_in(member, mgid, ifindex))
			ret_num[cnt++] = member->num;
	}
	util_unlock(&group_lock);
	return cnt;
}

/* ---- the socket ---------------------------------------------------------- */

static int socket_change(const struct sib_gid *mgid, uint32_t ifindex,
			 bool is_joined)
{
	struct ipv6_mreq ipv6 = { .ipv6mr_interface = ifindex };
	struct ip_mreqn ipv4 = { .imr_ifindex = (int)ifindex };
	bool is_ipv4 = sib_gid_is_ipv4(mgid);
	int fd = rnic_udp_send_fd(is_ipv4);
	int rc;

	if (is_ipv4) {
		(void)sib_mgid_to_ip(mgid, (uint8_t *)&ipv4.imr_multiaddr);
		rc = rnic_tcp()->setsockopt(fd, IPPROTO_IP,
					    is_joined ? IP_ADD_MEMBERSHIP
						      : IP_DROP_MEMBERSHIP,
					    &ipv4, sizeof(ipv4));
	} else {
		(void)sib_mgid_to_ip(mgid, (uint8_t *)&ipv6.ipv6mr_multiaddr);
		rc = rnic_tcp()->setsockopt(fd, IPPROTO_IPV6,
					    is_joined ? IPV6_JOIN_GROUP
						      : IPV6_LEAVE_GROUP,
					    &ipv6, sizeof(ipv6));
	}
	return rc < 0 ? -errno : 0;
}

#define ATTACH "ibv_attach_mcast"
#define DETACH "ibv_detach_mcast"

static int socket_join(const struct sib_gid *mgid, uint32_t ifindex)
{
	int rc = socket_change(mgid, ifindex, true);

	if (rc == -ENOBUFS) {
		util_warn("rnic", ATTACH ": ENOMEM: the socket has as many "
					 "groups as it may: raise "
					 "net.ipv4.igmp_max_memberships");
		return -ENOMEM;
	}
	return rc < 0 ? util_refuse("verbs", -rc, ATTACH,
				    "the UDP socket cannot join the group")
		      : 0;
}

/* ---- attach and detach --------------------------------------------------- */

/* *ret_cnt: of the group. */
static struct member *member_find(const struct sib_gid *mgid, uint32_t ifindex,
				  uint32_t num, uint32_t *ret_cnt)
{
	struct member *member, *found = NULL;

	*ret_cnt = 0;
	LIST_FOREACH(member, list_of(mgid), link)
	{
		if (!is_in(member, mgid, ifindex))
			continue;
		++*ret_cnt;
		if (member->num == num)
			found = member;
	}
	return found;
}

static int member_add(const struct rnic_qp *qp, const struct sib_gid *mgid)
{
	uint32_t ifindex = qp->ctx->dev->ifindex, cnt;
	struct member *member;
	int rc;

	if (member_find(mgid, ifindex, qp->num, &cnt))
		return 0;
	if (cnt == RNIC_GROUP_QP_MAX)
		return util_refuse(
			"verbs", ENOMEM, ATTACH,
			"the group has %u queue pairs, and there may "
			"be no more",
			cnt);
	member = malloc(sizeof(*member));
	if (!member)
		return util_refuse_memory("verbs", ATTACH);
	rc = cnt ? 0 : socket_join(mgid, ifindex);
	if (rc < 0) {
		free(member);
		return rc;
	}
	*member = (struct member){ .mgid = *mgid,
				   .ifindex = ifindex,
				   .num = qp->num,
				   .ctx = qp->ctx };
	util_lock(&group_lock);
	LIST_INSERT_HEAD(list_of(mgid), member, link);
	util_unlock(&group_lock);
	return 0;
}

static void member_remove(struct member *member)
{
	uint32_t cnt;

	util_lock(&group_lock);
	LIST_REMOVE(member, link);
	util_unlock(&group_lock);
	(void)member_find(&member->mgid, member->ifindex, 0, &cnt);
	if (!cnt)
		(void)socket_change(&member->mgid, member->ifindex, false);
	free(member);
}

static int group_check(const struct rnic_qp *qp, const struct sib_gid *mgid)
{
	if (qp->transport->type != RNIC_QPT_UD)
		return util_refuse("verbs", EINVAL, ATTACH,
				   "QP 0x%06x is not of type UD", qp->num);
	if (!sib_gid_is_multicast(mgid))
		return util_refuse(
			"verbs", EINVAL, ATTACH,
			"gid is none of a multicast group: it begins "
			"with 0x%02x%02x",
			mgid->raw[0], mgid->raw[1]);
	return 0;
}

int rnic_qp_attach(struct rnic_qp *qp, const uint8_t mgid[16])
{
	struct sib_gid gid;
	int rc;

	memcpy(gid.raw, mgid, sizeof(gid.raw));
	rc = group_check(qp, &gid);
	if (rc < 0)
		return rc;
	util_lock(&change_lock);
	rc = member_add(qp, &gid);
	util_unlock(&change_lock);
	return rc;
}

int rnic_qp_detach(struct rnic_qp *qp, const uint8_t mgid[16])
{
	struct member *member, *next;
	struct sib_gid gid;
	bool is_left = false;

	memcpy(gid.raw, mgid, sizeof(gid.raw));
	util_lock(&change_lock);
	/* On whatever interface its device had. */
	for (member = LIST_FIRST(list_of(&gid)); member; member = next) {
		next = LIST_NEXT(member, link);
		if (member->num != qp->num ||
		    memcmp(&member->mgid, &gid, sizeof(gid)) != 0)
			continue;
		member_remove(member);
		is_left = true;
	}
	util_unlock(&change_lock);
	return is_left ? 0
		       : util_refuse("verbs", EINVAL, DETACH,
				     "QP 0x%06x is not attached to the group",
				     qp->num);
}

bool rnic_qp_is_attached(const struct rnic_qp *qp)
{
	const struct member *member;
	bool is_attached = false;

	util_lock(&change_lock);
	for (size_t i = 0; i < LIST_CNT; i++) {
		LIST_FOREACH(member, &groups[i], link)
		{
			is_attached |= member->num == qp->num;
		}
	}
	util_unlock(&change_lock);
	return is_attached;
}

/* @ctx: NULL: of the QP @num. */
static void leave_all(const struct rnic_context *ctx, uint32_t num)
{
	struct member *member, *next;

	util_lock(&change_lock);
	for (size_t i = 0; i < LIST_CNT; i++) {
		for (member = LIST_FIRST(&groups[i]); member; member = next) {
			next = LIST_NEXT(member, link);
			if (ctx ? member->ctx == ctx : member->num == num)
				member_remove(member);
		}
	}
	util_unlock(&change_lock);
}

void rnic_group_leave_all(uint32_t num)
{
	leave_all(NULL, num);
}

void rnic_group_forget(const struct rnic_context *ctx)
{
	leave_all(ctx, 0);
}

void rnic_group_fork_child(void)
{
	util_lock_init(&change_lock, UTIL_RANK_DEVICE);
	util_lock_init(&group_lock, UTIL_RANK_LEAF);
	memset(groups, 0, sizeof(groups));
}
