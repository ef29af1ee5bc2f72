/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Port events: interfaces looked at when rtnetlink says that they changed. */
#include "port.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>

#include "util/log.h"
#include "cm/id.h"
#include "loop/loop.h"
#include "mem/context.h"
#include "dev/device.h"
#include "os/addr.h"
#include "os/fd.h"
#include "os/netif-cache.h"

/* Every device has one port. */
#define PORT_NUM 1
/* Pause after a look to which the kernel had no answer (out of memory or
 * descriptors). */
#define PORT_AGAIN_NS (1000 * NS_PER_MS)
/* What is gone may come back: down and up again, an address that is set
 * anew. */
#define PORT_LOST_NS (5000 * NS_PER_MS)
/* The end of streams is reported before the removal of their interface: id.c
 * holds it for a while. */
#define PORT_REMOVED_NS (200 * NS_PER_MS)
/* Messages taken at a time: others wait for the manager's lock. */
#define PORT_NEWS_MAX 256

static struct {
	LIST_HEAD(, rnic_port) watched;
	bool has_fd;
	int fd;
	uint32_t epoll_events;
	struct rnic_timer again, lost, removed;
} ports; /* guarded by the manager's lock */

/* ---- looking ------------------------------------------------------------ */

static void port_tell(struct rnic_port *port, enum rnic_port_event event)
{
	static const enum usiw_async_type type[] = {
		[RNIC_PORT_EV_ACTIVE] = USIW_EVENT_PORT_ACTIVE,
		[RNIC_PORT_EV_ERR] = USIW_EVENT_PORT_ERR,
		[RNIC_PORT_EV_GID] = USIW_EVENT_GID_CHANGE,
	};

	rnic_context_event(port->ctx, &port->node[event], type[event],
			   PORT_NUM);
}

static void port_move(struct rnic_port *port, bool is_up)
{
	bool has_moved = port->is_up != is_up;

	port->is_up = is_up;
	if (port->is_known && has_moved)
		port_tell(port, is_up ? RNIC_PORT_EV_ACTIVE : RNIC_PORT_EV_ERR);
}

static void port_look(struct rnic_port *port,
		      const struct rnic_netif_table *table)
{
	struct rnic_device_attr now;
	bool has_other_gids;

	rnic_device_fill_attr(port->ctx->dev, table, &now);
	has_other_gids = memcmp(port->gid, now.gid, sizeof(port->gid)) != 0 ||
			 port->is_flapped;
	port->ifindex = now.ifindex;
	memcpy(port->gid, now.gid, sizeof(port->gid));
	port->is_flapped = false;
	port_move(port, now.is_up);
	if (port->is_known && has_other_gids)
		port_tell(port, RNIC_PORT_EV_GID);
	if (port->is_known && (has_other_gids || !now.is_up))
		rnic_timer_start(&ports.lost, RNIC_TIMER_PORT_LOST,
				 PORT_LOST_NS);
	if (now.ifindex)
		port->is_removed = false;
	port->is_known = true;
}

/*
 * What was over before the look: down and up again, an address that went
 * and came back.  The rest the look will find.
 */
static void port_hear(struct rnic_port *port,
		      const struct rnic_netif_change *change)
{
	uint8_t gid[16];

	if (change->what != RNIC_NETIF_ADDR)
		port_move(port, change->what == RNIC_NETIF_UP);
	if (!change->gone.family)
		return;
	rnic_gid_from_ip(gid, change->gone.family, change->gone.addr);
	for (uint32_t i = 0; i < RNIC_GID_MAX; i++)
		port->is_flapped |= memcmp(gid, port->gid[i], 16) == 0;
}

/* All of them, from one answer of the kernel: messages may be lost. */
void rnic_ports_look(void)
{
	struct rnic_netif_table *table;
	struct rnic_port *port;
	int rc = rnic_netif_table_new(&table);

	rnic_timer_stop(&ports.again);
	if (rc < 0) {
		util_warn("rnic", "port events: rtnetlink answers %s",
			  strerror(-rc));
		rnic_timer_start(&ports.again, RNIC_TIMER_PORT_AGAIN,
				 PORT_AGAIN_NS);
		return;
	}
	/* A program that is told of a change must find it. */
	rnic_netif_cache_drop();
	LIST_FOREACH(port, &ports.watched, link)
	port_look(port, table);
	rnic_netif_table_free(table);
}

/* Return: an interface is meant that is a device's, or may be its new one. */
static bool ports_hear(const struct rnic_netif_change *change)
{
	struct rnic_port *port;
	bool is_due = false;

	LIST_FOREACH(port, &ports.watched, link)
	{
		if (change->ifindex && port->ifindex == change->ifindex)
			port_hear(port, change);
		is_due = is_due || !change->ifindex || !port->ifindex ||
			 port->ifindex == change->ifindex;
	}
	return is_due;
}

/* ---- gone for good ------------------------------------------------------ */

struct port_lost {
	const struct rnic_device *dev;
	const struct rnic_netif_table *table;
};

static void source_look(struct rnic_source *source, void *arg)
{
	const struct port_lost *lost = arg;
	struct sockaddr_storage local, peer;
	uint8_t gid[16];

	rnic_addr_of_socket(source->fd, &local, &peer);
	rnic_gid_from_ip(gid, local.ss_family, rnic_addr_octets(&local));
	if (rnic_gid_is_lost(lost->dev->gids, lost->table, gid))
		source->ops->addr_gone(source);
}

void rnic_port_lost(struct rnic_timer *timer)
{
	struct rnic_netif_table *table;
	struct rnic_port *port;
	bool is_removed = false;

	if (rnic_netif_table_new(&table) < 0) {
		rnic_timer_start(timer, RNIC_TIMER_PORT_LOST, PORT_LOST_NS);
		return;
	}
	LIST_FOREACH(port, &ports.watched, link)
	{
		struct port_lost lost = { port->ctx->dev, table };

		rnic_engines_each(&port->ctx->engines, source_look, &lost);
		is_removed |= !port->ifindex && !port->is_removed;
	}
	rnic_netif_table_free(table);
	if (is_removed)
		rnic_timer_start(&ports.removed, RNIC_TIMER_PORT_REMOVED,
				 PORT_REMOVED_NS);
}

void rnic_port_removed(struct rnic_timer *timer)
{
	struct rnic_port *port;

	(void)timer;
	LIST_FOREACH(port, &ports.watched, link)
	{
		if (port->ifindex || port->is_removed)
			continue;
		port->is_removed = true;
		cm_ids_removed(port->ctx->dev);
		rnic_context_fatal(port->ctx);
	}
}

/* ---- the socket --------------------------------------------------------- */

void rnic_ports_close(void)
{
	if (!ports.has_fd)
		return;
	/* By hand: a forked child may hold the socket open. */
	(void)rnic_loop_watch(ports.fd, RNIC_LOOP_PORT, 0, 0,
			      &ports.epoll_events);
	rnic_fd_close(ports.fd);
	ports.has_fd = false;
	ports.epoll_events = 0;
	rnic_timer_stop(&ports.again);
	rnic_timer_stop(&ports.lost);
	rnic_timer_stop(&ports.removed);
}

static int ports_open(void)
{
	int rc;

	if (ports.has_fd)
		return 0;
	rc = rnic_loop_start();
	if (rc < 0)
		return rc;
	rc = rnic_netif_watch_open();
	if (rc < 0)
		return rc;
	ports.fd = rc;
	ports.has_fd = true;
	ports.epoll_events = 0;
	rc = rnic_loop_watch(ports.fd, RNIC_LOOP_PORT, 0, EPOLLIN,
			     &ports.epoll_events);
	if (rc < 0)
		rnic_ports_close();
	return rc;
}

void rnic_port_look_again(struct rnic_timer *timer)
{
	(void)timer;
	rnic_ports_look();
}

/* The socket is read before the kernel is asked, so that no change is missed:
 * it is in the answer, or makes a message after it. */
void rnic_port_ready(void)
{
	struct rnic_netif_news news = { 0 };
	struct rnic_netif_change change;
	bool is_due = false;
	int rc = 0;

	if (!ports.has_fd)
		return;
	for (int i = 0; i < PORT_NEWS_MAX; i++) {
		rc = rnic_netif_watch_next(ports.fd, &news, &change);
		if (rc <= 0)
			break;
		is_due = ports_hear(&change) || is_due;
	}
	if (rc < 0) {
		util_warn("rnic", "no port events any more: %s", strerror(-rc));
		rnic_ports_close();
	}
	if (is_due)
		rnic_ports_look();
}

/* ---- contexts ----------------------------------------------------------- */

void rnic_port_watch(struct rnic_context *ctx)
{
	struct rnic_port *port = ctx->port;
	struct rnic_netif_table *table;
	int rc;

	port->ctx = ctx;
	UTIL_LOCKED(&rnic_loop.lock);
	rc = ports_open();
	if (rc < 0) {
		util_warn("rnic", "%s: no port events: %s", ctx->dev->name,
			  strerror(-rc));
		return;
	}
	/* Changes before this do not concern it. */
	rnic_port_ready();
	if (!ports.has_fd)
		return;
	LIST_INSERT_HEAD(&ports.watched, port, link);
	/* What the application can see from here on; behind the socket, which
	 * has all that comes later.  Failed: the next look makes the start. */
	if (rnic_netif_table_new(&table) == 0) {
		port_look(port, table);
		rnic_netif_table_free(table);
	}
}

void rnic_port_unwatch(struct rnic_context *ctx)
{
	UTIL_LOCKED(&rnic_loop.lock);
	struct rnic_port *port;

	LIST_FOREACH(port, &ports.watched, link)
	{
		if (port == ctx->port)
			break;
	}
	if (!port)
		return;
	LIST_REMOVE(port, link);
	for (int i = 0; i < RNIC_PORT_EV_CNT; i++)
		(void)rnic_chan_purge(ctx->async, &port->node[i]);
	if (LIST_EMPTY(&ports.watched))
		rnic_ports_close();
}

void rnic_port_each(void (*act)(struct rnic_context *ctx, void *arg), void *arg)
{
	const struct rnic_port *port;

	LIST_FOREACH(port, &ports.watched, link)
	act(port->ctx, arg);
}

void rnic_port_catch_up(void)
{
	const struct rnic_port *port;

	LIST_FOREACH(port, &ports.watched, link)
	rnic_engines_catch_up(&port->ctx->engines);
}

/* ---- process ------------------------------------------------------------ */

void rnic_port_fork_child(void)
{
	memset(&ports, 0, sizeof(ports));
}
