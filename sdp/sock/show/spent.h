/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Registrations with EPOLLONESHOT in the kernel's epoll sets. */
#ifndef SDP_SOCK_SPENT_H
#define SDP_SOCK_SPENT_H

#include <stdbool.h>

/* Whether the kernel has reported the registration of @fd in the set @set_fd,
 * and waits for EPOLL_CTL_MOD. False if /proc does not tell. */
bool sdp_epoll_is_spent(int set_fd, int fd);

#endif
