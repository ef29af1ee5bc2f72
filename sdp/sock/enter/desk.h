/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The listener of this process for connections that SDP enters. */
#ifndef SDP_SOCK_DESK_H
#define SDP_SOCK_DESK_H

#include "sock/base/addr.h"

/* Opens it, once. @expects tells whether anyone may come from an address; other
 * connections are closed. @serve(@fd) runs in a thread for each that may, and
 * closes @fd. Return: its port; -errno. */
int sdp_desk_open(bool (*expects)(const union sdp_addr *from),
		  void (*serve)(int fd));

/* The forked child has none. */
void sdp_desk_fork_child(void);

#endif
