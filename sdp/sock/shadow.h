/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The shadow: one end of an AF_UNIX stream pair that has the program's number
 * while the connection uses SDP.  The kernel serves select, poll and epoll for
 * it, and the library makes it show the events of the connection.
 *
 * The events are only kept up to date while the kernel watches the shadow
 * (is_watched), for an epoll set that is used by other means (epoll.h).  All
 * other waits ask the link, without a system call.
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
