/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The shadow: one end of an AF_UNIX stream pair that has the program's number
 * while its octets go by SDP.  The kernel answers select, poll and epoll for
 * it; we make it say what the connection is ready for.
 *
 * What it shows is only kept up while the kernel looks at it for somebody
 * (is_watched): an epoll set that is looked at from outside (epoll.h).  All
 * others ask the link, and cost no call for it.
 */
#ifndef SDP_SOCK_SHADOW_H
#define SDP_SOCK_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

#include "table.h"

/*
 * A pair.  @flags: O_NONBLOCK for the program's end.
 * Return: the program's end, CLOEXEC, for dup3(); -errno.
 */
int sdp_shadow_open(struct sdp_shadow *shadow, int flags);

/*
 * Show what holds now: @events of poll(2): POLLIN, POLLOUT, POLLRDHUP, POLLHUP,
 * POLLERR, POLLPRI.  What is new is shown from our end; what is no longer true
 * is taken back at the program's end @fd, in a call of the program's (@fd -1:
 * not now).  @arrival: of POLLIN and POLLPRI, what has come anew, an edge for
 * EPOLLET.  With the shadow's lock held.
 */
void sdp_shadow_show(struct sdp_shadow *shadow, int fd, short events,
		     short arrival);

/* The end of ours: the program's end shows HUP. */
void sdp_shadow_close(struct sdp_shadow *shadow);

#endif
