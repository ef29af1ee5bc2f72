/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The end of a socket: its last number is closed, or the process exits
 * (exit.h). */
#ifndef SDP_SOCK_END_H
#define SDP_SOCK_END_H

#include "sock/base/table.h"

/* The close function for sdp_sock_add(). */
void sdp_sock_close(struct util_file *file);
void sdp_sock_end(struct sdp_sock *sock);

#endif
