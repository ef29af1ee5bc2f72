/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Address and route resolution: the kernel's routing decides. */
#include "object.h"

#include "bind.h"
#include "event.h"
#include "fault.h"
#include "fork.h"
#include "os/addr.h"
#include "reason.h"
#include "service.h"
#include "state.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

/*
 * Does another identity connect, or is it connected, from that port?  Its
 * socket has SO_REUSEADDR, for the question (ask.c) and for TIME_WAIT, so that
 * the kernel would let us bind, and only connect() might fail.
 */
static bool is_in_use(const struct cm_id *self, const struct sockaddr *src)
{
	struct sockaddr_storage want;
	const struct cm_id *id;
	uint32_t slot = 0;

	rnic_addr_set(&want, src);
	while ((id = rnic_ref_next(&rnic_loop.noted, &slot))) {
		if (!cm_id_is_ud(id) && (id->state == RNIC_CM_S_CONNECT ||
					 id->state == RNIC_CM_S_ESTABLISHED)) {
			if (!(id->is_reuseaddr && self->is_reuseaddr) &&
			    rnic_addr_equal(&id->local, &want))
				return true;
		}
	}
	return false;
}

/*
 * What the application wants to come from: the bound address, or @src.  A
 * source with a port is bound at once, so that the port is ours.
 */
static int resolve_bind(struct cm_id *id, const struct sockaddr *src)
{
	struct sockaddr_storage local;

	if (id->state == RNIC_CM_S_BOUND || !src)
		return 0;
	if (rnic_addr_port_be(src) != 0)
		return !cm_id_is_ud(id) && is_in_use(id, src)
			       ? -EADDRINUSE
			       : cm_id_bind(id, src);
	if (rnic_addr_is_any(src))
		return 0;
	/* Is it one of ours?  Ask now, as the kernel does. */
	return rnic_addr_source(src, src, &local);
}

#define RESOLVE "rdma_resolve_addr"
#define ROUTE "rdma_resolve_route"

static int resolve_check(const struct cm_id *id, const struct sockaddr *src,
			 const struct sockaddr *dst)
{
	if (id->state != RNIC_CM_S_IDLE && id->state != RNIC_CM_S_BOUND)
		return cm_refuse_state(id, RESOLVE, "IDLE or BOUND");
	if (rnic_addr_len(dst) == 0)
		return -EAFNOSUPPORT;
	if (id->state == RNIC_CM_S_BOUND)
		src = (const struct sockaddr *)&id->local;
	if (src && src->sa_family != dst->sa_family)
		return cm_refuse(id, EINVAL, RESOLVE,
				 "one address is of IPv4, and one of IPv6");
	return 0;
}

/* Return: 0 and the identity is ADDR; what ADDR_ERROR is to say. */
static int resolve_route_to(struct cm_id *id, const struct sockaddr *src,
			    const struct sockaddr *dst)
{
	struct sockaddr_storage local, peer;
	struct rnic_device *dev;
	uint16_t port_be = 0;
	int ret;

	if (id->state == RNIC_CM_S_BOUND) {
		src = (struct sockaddr *)&id->local;
		port_be = rnic_addr_port_be(src);
	}
	ret = rnic_addr_source(src, dst, &local);
	if (ret < 0)
		return cm_refuse(id, -ret, RESOLVE,
				 "the kernel has no route to the address");
	dev = rnic_device_by_addr((struct sockaddr *)&local);
	if (!dev)
		return cm_refuse(
			id, ENODEV, RESOLVE,
			"the kernel reaches the address from %s, which "
			"is of no device",
			UTIL_ADDR_TEXT(&local));
	rnic_addr_set(&peer, dst);
	if (rnic_addr_is_any(dst)) { /* means this very machine */
		peer = local;
		rnic_addr_set_port_be(&peer, rnic_addr_port_be(dst));
	}
	if (cm_id_is_ud(id) && !port_be)
		port_be = htons(cm_service_any_port());
	rnic_addr_set_port_be(&local, port_be);
	id->local = local;
	id->peer = peer;
	id->dev = dev;
	cm_id_set_state(id, RNIC_CM_S_ADDR);
	return 0;
}

static int resolve_addr(struct cm_id *id, const struct sockaddr *src,
			const struct sockaddr *dst)
{
	const struct util_fault_rule *fault;
	struct cm_event *event;
	int ret = resolve_check(id, src, dst);

	if (ret < 0)
		return ret;
	event = cm_event_new(id);
	if (!event)
		return util_refuse_memory("cm", RESOLVE);
	ret = resolve_bind(id, src);
	if (ret < 0) {
		free(event);
		return ret;
	}
	fault = cm_fault(dst, RNIC_FAULT_BIT(CM_ADDR_ERROR));
	if (fault)
		ret = -(int)(fault->err ? fault->err : EHOSTUNREACH);
	else
		ret = resolve_route_to(id, src, dst);
	cm_event_post(event,
		      ret < 0 ? RNIC_CM_ADDR_ERROR : RNIC_CM_ADDR_RESOLVED,
		      ret);
	return 0;
}

int rnic_cm_resolve_addr(struct rnic_cm_chan *chan, uint32_t num,
			 const struct sockaddr *src, const struct sockaddr *dst,
			 uint32_t timeout_ms)
{
	struct cm_id *id;
	CM_LOCK_STATUS status = cm_id_lock(chan, num, &id);

	(void)timeout_ms; /* the kernel's routing tables answer at once */
	if (status < 0)
		return status;
	return resolve_addr(id, src && rnic_addr_len(src) ? src : NULL, dst);
}

static int resolve_route(struct cm_id *id)
{
	const struct util_fault_rule *fault;
	struct cm_event *event;

	if (id->state != RNIC_CM_S_ADDR)
		return cm_refuse_state(id, ROUTE, "ADDR");
	event = cm_event_new(id);
	if (!event)
		return util_refuse_memory("cm", ROUTE);
	fault = cm_fault((struct sockaddr *)&id->peer,
			 RNIC_FAULT_BIT(CM_ROUTE_ERROR));
	if (fault) {
		cm_event_post(event, RNIC_CM_ROUTE_ERROR,
			      -(int)(fault->err ? fault->err : ETIMEDOUT));
		return 0;
	}
	cm_id_set_state(id, RNIC_CM_S_ROUTE);
	cm_event_post(event, RNIC_CM_ROUTE_RESOLVED, 0);
	return 0;
}

/* TCP routes each segment by itself: nothing is left to find out. */
int rnic_cm_resolve_route(struct rnic_cm_chan *chan, uint32_t num,
			  uint32_t timeout_ms)
{
	struct cm_id *id;
	CM_LOCK_STATUS status = cm_id_lock(chan, num, &id);

	(void)timeout_ms;
	return status < 0 ? status : resolve_route(id);
}
