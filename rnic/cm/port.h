/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The ports of rdma_cm beside those of TCP: which, and what is said there. */
#ifndef RNIC_CM_PORT_H
#define RNIC_CM_PORT_H

#include "object.h"

#define CM_PORT_SIGN_SIZE 24

/* Has rdma_cm a port space of its own (USIW_PORT_SPACE)? */
bool cm_port_is_apart(void);
/* Where the listener of a port is when the port is a plain socket's. */
uint16_t cm_port_beside_be(uint16_t port_be);
/* The address of the identity's socket, as TCP knows it. */
void cm_port_real_local(const struct cm_id *id,
			struct sockaddr_storage *ret_addr);
/* Would one socket keep the other from binding, the ports being the same? */
bool cm_port_addr_overlaps(const struct sockaddr_storage *a,
			   const struct sockaddr_storage *b);
/* Has the program a plain TCP socket there?  A port that another program has is
 * in use, as ever. */
bool cm_port_is_programs(const struct sockaddr_storage *want);
/* What a moved listener says first: of which port it is.  Return: 0; -EAGAIN:
 * it has not come yet; -errno. */
int cm_port_send_sign(int fd, uint16_t port_be);
int cm_port_read_sign(int fd, uint16_t port_be);

#endif
