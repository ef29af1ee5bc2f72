/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The descriptors that a message passes on: SCM_RIGHTS. */
#ifndef SDP_SOCK_RIGHTS_H
#define SDP_SOCK_RIGHTS_H

#include <sys/socket.h>

/* fn() for each of them.  Control data that is not in order ends the walk. */
void sdp_rights_each(const struct msghdr *msg, void (*fn)(int fd));

#endif
