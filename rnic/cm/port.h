/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The ports of rdma_cm beside those of TCP: which they are, and what is sent
 * there. */
#ifndef RNIC_CM_PORT_H
#define RNIC_CM_PORT_H

#include "object.h"

#define CM_PORT_SIGN_SIZE 24

/* Does rdma_cm have a separate port space (USIW_PORT_SPACE)? */
bool cm_port_is_apart(void);
/* The port of the listener if a plain socket has the port itself. */
uint16_t cm_port_beside_be(uint16_t port_be);
/* The address of the identity's socket in TCP. */
void cm_port_real_local(const struct cm_id *id,
			struct sockaddr_storage *ret_addr);
/* With equal ports: would one socket prevent the other from binding? */
bool cm_port_addr_overlaps(const struct sockaddr_storage *a,
			   const struct sockaddr_storage *b);
/* Does the program have a plain TCP socket there? A port of another program is
 * in use in any case. */
bool cm_port_is_programs(const struct sockaddr_storage *want);
/* A moved listener first sends for which port it is. Return: 0; -EAGAIN: not
 * received yet; -errno. */
int cm_port_send_sign(int fd, uint16_t port_be);
int cm_port_read_sign(int fd, uint16_t port_be);

#endif
