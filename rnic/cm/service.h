/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Ports of datagrams: an AF_UNIX name makes one unique in its network
 * namespace.  All calls are made with the manager locked. */
#ifndef RNIC_CM_SERVICE_H
#define RNIC_CM_SERVICE_H

#include "object.h"

/* *@port: 0: any.  Return: a socket that has the name of the port; -EADDRINUSE;
 * -EACCES: the port is privileged; other -errno. */
int cm_service_open(uint16_t ps, uint16_t *port);
/* One that nobody needs to find. */
uint16_t cm_service_any_port(void);
void cm_service_close(struct cm_id *id);

/* The identity, which is BOUND, takes requests.  Return: 0; -errno. */
int cm_service_start(struct cm_id *id);
void cm_service_stop(struct cm_id *id);

#endif
