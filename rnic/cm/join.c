/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Multicast groups of identities.  To join means no more here than to be told
 * how to send to the group.  Who wants to receive attaches a QP, as librdmacm
 * does with the event.
 */
#include "join.h"

#include <errno.h>
#include <stdlib.h>

#include "event.h"
#include "fork.h"
#include "os/addr.h"
#include "reason.h"
#include "rnic-cm-ud.h"
#include "way.h"

#define JOIN "rdma_join_multicast"

/* Return: 0; -EINVAL: no group that the identity may join now. */
static int join_check(const struct cm_id *id, const struct sockaddr *addr,
		      size_t addr_len, struct sib_gid *ret_mgid)
{
	struct sockaddr_storage group;

	if (!cm_id_is_ud(id) || !id->dev)
		return cm_refuse(id, EINVAL, JOIN,
				 "not of RDMA_PS_UDP or RDMA_PS_IPOIB, or not "
				 "bound to a device");
	if (id->state != RNIC_CM_S_BOUND && id->state != RNIC_CM_S_ADDR)
		return cm_refuse_state(id, JOIN, "BOUND or ADDR");
	if (!addr_len || addr_len != rnic_addr_len(addr))
		return cm_refuse(id, EINVAL, JOIN,
				 "there is no address of IPv4 or IPv6");
	rnic_addr_set(&group, addr);
	cm_gid_of(&group, ret_mgid);
	/* The packets come from the identity's own address. */
	if (!sib_gid_is_multicast(ret_mgid) ||
	    id->local.ss_family != group.ss_family)
		return cm_refuse(id, EINVAL, JOIN,
				 "%s is no group, or not of the family of the "
				 "own address",
				 UTIL_ADDR_TEXT(&group));
	return 0;
}

static void join_post(const struct cm_join *join, struct cm_event *event)
{
	event->join_num = join->num;
	event->ev.qp_num = SIB_QPN_MULTICAST;
	event->ev.qkey = RNIC_CM_QKEY;
	cm_event_set_way(&event->ev, join->id, &join->mgid);
	cm_event_post(event, RNIC_CM_MULTICAST_JOIN, 0);
}

static int join_new(struct cm_id *id, const struct sib_gid *mgid, uint64_t uid,
		    uint32_t *ret_num)
{
	struct cm_event *event = cm_event_new(id);
	struct cm_join *join = calloc(1, sizeof(*join));

	if (!event || !join) {
		free(event);
		free(join);
		return util_refuse_memory("cm", JOIN);
	}
	join->id = id;
	join->mgid = *mgid;
	join->uid = uid;
	join->num = ++cm.join_last;
	LIST_INSERT_HEAD(&id->ud.joins, join, link);
	*ret_num = join->num;
	join_post(join, event);
	return 0;
}

int rnic_cm_join(struct rnic_cm_chan *chan, uint32_t num,
		 const struct sockaddr *addr, size_t addr_len, uint64_t uid,
		 uint32_t *ret_join)
{
	struct sib_gid mgid;
	struct cm_id *id;
	int ret;

	ret = cm_id_lock_ud(chan, JOIN, num, &id);
	if (ret < 0)
		return ret;
	ret = join_check(id, addr, addr_len, &mgid);
	if (ret == 0)
		ret = join_new(id, &mgid, uid, ret_join);
	util_unlock(&rnic_loop.lock);
	return ret;
}

/* ---- the end ------------------------------------------------------------- */

static struct cm_join *join_find(const struct rnic_cm_chan *chan, uint32_t num)
{
	struct cm_join *join;
	struct cm_id *id;

	TAILQ_FOREACH(id, &chan->ids, chan_link)
	{
		LIST_FOREACH(join, &id->ud.joins, link)
		{
			if (join->num == num)
				return join;
		}
	}
	return NULL;
}

static void join_free(struct cm_join *join)
{
	LIST_REMOVE(join, link);
	free(join);
}

void cm_joins_free(struct cm_id *id)
{
	while (!LIST_EMPTY(&id->ud.joins))
		join_free(LIST_FIRST(&id->ud.joins));
}

static void join_drop_events(const struct cm_join *join)
{
	struct rnic_cm_chan *chan = join->id->chan;
	struct cm_event *event = TAILQ_FIRST(&chan->events), *next;

	for (; event; event = next) {
		next = TAILQ_NEXT(event, link);
		if (event->join_num == join->num)
			cm_event_remove(chan, event);
	}
}

int rnic_cm_leave(struct rnic_cm_chan *chan, uint32_t join_num,
		  uint32_t *ret_events_reported)
{
	struct cm_join *join;
	int ret;

	ret = cm_chan_lock_ud(chan, "rdma_leave_multicast");
	if (ret < 0)
		return ret;
	join = join_find(chan, join_num);
	if (join) {
		join_drop_events(join);
		*ret_events_reported = join->events_reported;
		join_free(join);
	}
	util_unlock(&rnic_loop.lock);
	return join ? 0 : -ENOENT;
}

struct cm_join *cm_join_of(const struct cm_event *event)
{
	struct cm_join *join;

	/* 0 is no number of one. */
	LIST_FOREACH(join, &event->owner->ud.joins, link)
	{
		if (join->num == event->join_num)
			break;
	}
	return join;
}
