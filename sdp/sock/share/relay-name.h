/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The name of a shadow that carries data. The library's end is bound to an
 * abstract AF_UNIX name that contains both addresses of the connection. A
 * program that gets the other end, by exec() or by SCM_RIGHTS, reads the
 * addresses with the kernel's getpeername(), whichever process has the
 * connection.
 */
#ifndef SDP_SOCK_RELAY_NAME_H
#define SDP_SOCK_RELAY_NAME_H

#include <stdbool.h>

#include "sock/base/table.h"

/* A failure is harmless: other processes cannot read the names then. */
void sdp_relay_name_put(int lib_fd, const union sdp_addr *local,
			const union sdp_addr *peer);

/* For any descriptor. Return: whether it is the program's end of such a
 * pair. */
bool sdp_relay_name_get(int fd, union sdp_addr *ret_local,
			union sdp_addr *ret_peer);

#endif
