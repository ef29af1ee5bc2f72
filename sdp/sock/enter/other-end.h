/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the process with the other end of a connection has announced. */
#ifndef SDP_SOCK_OTHER_END_H
#define SDP_SOCK_OTHER_END_H

#include <stdint.h>

#include "sock/base/addr.h"

/*
 * Finds the port that was announced with the other end: on this host in the
 * registry, on another one by its Port Mapper, for which it waits less than
 * half a second. Who announces has the end: the user of the socket, or root.
 * @own, @peer: the names of this end.
 * Return: 0; -ENOENT: not announced; -EADDRNOTAVAIL: the Port Mapper of the
 *   other host does not answer; others as sdp_registry_find_end().
 */
int sdp_other_end_find(const union sdp_addr *own, const union sdp_addr *peer,
		       uint16_t *ret_port);

#endif
