/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Sockets that come from elsewhere: over exec(), or by SCM_RIGHTS; they are
 * known by their mark (mark.h). */
#ifndef SDP_SOCK_ADOPT_H
#define SDP_SOCK_ADOPT_H

#include <sys/socket.h>

#include "table.h"

/* An entry for @fd if it is such a socket and has none. */
void sdp_adopt_fd(int fd);

/* All that a new program may have inherited. */
void sdp_adopt_inherited(void);

/* What came with a message. */
void sdp_adopt_message(const struct msghdr *msg);

#endif
