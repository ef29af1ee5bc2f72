/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The shadow: one end of an AF_UNIX stream pair that has the program's number
 * while the connection uses SDP. The kernel serves select, poll and epoll for
 * it. The library makes it show the events of the connection.
 *
 * The events are kept up to date only while the kernel watches the shadow
 * (is_watched), for an epoll set that is used in other ways (epoll.h). All
 * other waits query the link without a system call.
 */
#ifndef SDP_SOCK_SHADOW_H
#define SDP_SOCK_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

#include "sock/base/table.h"

/*
 * Makes the pair. @flags: O_NONBLOCK for the program's end.
 * Return: the program's end, CLOEXEC, for dup3(); -errno.
 */
int sdp_shadow_open(struct sdp_shadow *shadow, int flags);

/*
 * Makes the program's end show @events of poll(2): POLLIN, POLLOUT, POLLRDHUP,
 * POLLHUP, POLLERR, POLLPRI. New events are made through the library's end.
 * Events that no longer hold are taken back through the program's end @fd, in a
 * call of the program (@fd -1: not now). @arrival: which of POLLIN and POLLPRI
 * have new data, an edge for EPOLLET. The shadow's lock is held.
 */
void sdp_shadow_show(struct sdp_shadow *shadow, int fd, short events,
		     short arrival);

/* Closes the library's end: the program's end shows HUP. */
void sdp_shadow_close(struct sdp_shadow *shadow);

#endif
