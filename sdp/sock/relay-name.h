/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The name of a shadow that carries octets.  The library's end is bound to an
 * abstract AF_UNIX name with both addresses of the connection.  A program that
 * gets the other end, over exec() or by SCM_RIGHTS, reads the addresses by the
 * kernel's getpeername(), whichever process has the connection.
 */
#ifndef SDP_SOCK_RELAY_NAME_H
#define SDP_SOCK_RELAY_NAME_H

#include <stdbool.h>

#include "table.h"

/* Failing is harmless: the names are not known elsewhere. */
void sdp_relay_name_put(int lib_fd, const union sdp_addr *local,
			const union sdp_addr *peer);

/* Any descriptor.  Return: whether it is the program's end of such a pair. */
bool sdp_relay_name_get(int fd, union sdp_addr *ret_local,
			union sdp_addr *ret_peer);

#endif
