/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Who on this host a packet of UDP is for. */
#ifndef RNIC_ROUTE_H
#define RNIC_ROUTE_H

#include "engine/object.h"
#include "host.h"

/*
 * @head: with @len octets of payload behind it, came by interface @ifindex.  A
 * QP of @engine, which the caller leads, gets it at once.  Another QP, and who
 * listens or asks at QP 1, gets it by @host_fd, a socket of
 * rnic_host_open_sender().  @engine: NULL: none is led.
 * Return: 0: it is delivered, or counted as lost; -EAGAIN: neither, the process
 * of the QP is full.
 */
int rnic_ud_route(struct rnic_engine *engine, int host_fd, uint32_t ifindex,
		  struct rnic_host_head *head, uint32_t len);

#endif
