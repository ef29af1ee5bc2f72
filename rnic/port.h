/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Port events: what becomes of a device's interface and its addresses, told
 * to every context of the device.  The loop's lock guards all of it, and its
 * thread does the work.
 */
#ifndef RNIC_PORT_H
#define RNIC_PORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "os/chan.h"

struct rnic_context;
struct rnic_timer;

enum rnic_port_event {
	RNIC_PORT_EV_ACTIVE,
	RNIC_PORT_EV_ERR,
	RNIC_PORT_EV_GID,
	RNIC_PORT_EV_CNT
};

/* What the application was last told, or could see when it opened. */
struct rnic_port {
	LIST_ENTRY(rnic_port) link;
	struct rnic_context *ctx;
	bool is_known;	  /* the rest says something */
	uint32_t ifindex; /* 0: the interface has gone */
	bool is_flapped;  /* a GID went that was there at the last look */
	bool is_up;
	uint8_t gid[RNIC_GID_MAX][16];
	struct rnic_chan_node node[RNIC_PORT_EV_CNT];
};

/*
 * From here on the context is told.  Cannot fail: without a socket or a
 * thread there is a warning, and no events.  Takes the manager's lock.
 */
void rnic_port_watch(struct rnic_context *ctx);
/* The end, also of events that are not yet read.  With the last context goes
 * the socket.  A context that is not watched: nothing happens. */
void rnic_port_unwatch(struct rnic_context *ctx);

/* ---- for the loop, locked -------------------- --------------------------- */

/* The kernel has something to say. */
void rnic_port_ready(void);
/* The kernel did not answer a while ago. */
void rnic_port_look_again(struct rnic_timer *timer);
/* Process exit. */
void rnic_port_close_all(void);
/* Forked child: no context is watched; the socket is closed already. */
void rnic_port_fork_child(void);

#endif
