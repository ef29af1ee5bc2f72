/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Port events: changes of a device's interface and its addresses, reported to
 * every context of the device. The loop's lock guards all of it, and its thread
 * does the work.
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

/* What was last reported to the application, or what it could see when it
 * opened the context. */
struct rnic_port {
	LIST_ENTRY(rnic_port) link;
	struct rnic_context *ctx;
	bool is_known;	  /* the other fields are valid */
	uint32_t ifindex; /* 0: the interface was removed */
	bool is_removed;  /* that has been reported */
	bool is_flapped;  /* a GID was removed that the last check had found */
	bool is_up;
	uint8_t gid[RNIC_GID_MAX][16];
	struct rnic_chan_node node[RNIC_PORT_EV_CNT];
};

/*
 * Starts reports to the context. Cannot fail: without a socket or a thread
 * there is a warning, and no events. Takes the manager's lock.
 */
void rnic_port_watch(struct rnic_context *ctx);
/* Ends them, and drops events that were not read. Closes the socket with the
 * last context. If the context is not watched, nothing happens. */
void rnic_port_unwatch(struct rnic_context *ctx);

/* ---- for the loop, locked -------------------- --------------------------- */

/* Looks at all of them: a fault may have changed their state. */
void rnic_ports_look(void);
/* Calls @act for each context that is watched. */
void rnic_port_each(void (*act)(struct rnic_context *ctx, void *arg),
		    void *arg);
/* The kernel has sent a message. */
void rnic_port_ready(void);
/* The kernel did not answer before. */
void rnic_port_look_again(struct rnic_timer *timer);
/* The engines of all contexts notice the streams that have ended. */
void rnic_port_catch_up(void);
/* What has changed has not come back for a while: streams whose own address is
 * gone end. */
void rnic_port_lost(struct rnic_timer *timer);
/* ... and that has been reported: an interface does not exist any more. */
void rnic_port_removed(struct rnic_timer *timer);
/* Process exit. */
void rnic_ports_close(void);
/* In a forked child: no context is watched; the socket is closed already. */
void rnic_port_fork_child(void);

#endif
