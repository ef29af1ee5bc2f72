/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Sockets from another program, by exec() or by SCM_RIGHTS. Their mark
 * identifies them (mark.h). */
#ifndef SDP_SOCK_ADOPT_H
#define SDP_SOCK_ADOPT_H

#include <sys/socket.h>

#include "sock/base/table.h"

/* Makes an entry for @fd if it is such a socket and has no entry. */
void sdp_adopt_fd(int fd);

/* Adopts all sockets that a new program may have inherited. */
void sdp_adopt_inherited(void);

/* Adopts the sockets that @msg carried. */
void sdp_adopt_message(const struct msghdr *msg);

#endif
