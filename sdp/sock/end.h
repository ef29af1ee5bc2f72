/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The end of a socket: its last number is closed, or the process exits. */
#ifndef SDP_SOCK_END_H
#define SDP_SOCK_END_H

#include "table.h"

/* For sdp_sock_add(). */
void sdp_sock_close(struct util_file *file);
void sdp_sock_end(struct sdp_sock *sock);

/* The process exits: what was sent goes out before, within a limited time.  No
 * other thread comes out of a call any more.
 * @has_stdio: what lies in libc's streams goes out as well. */
void sdp_end_process(bool has_stdio);

#endif
