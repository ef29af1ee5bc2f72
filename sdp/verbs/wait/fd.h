/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The wait of a start for a descriptor. */
#ifndef SDP_WAIT_FD_H
#define SDP_WAIT_FD_H

#include <stdint.h>

/*
 * Waits until @fd has one of @events, or an error. @stop_fd ends the wait when
 * it becomes readable; 0, -1: none.
 * Return: 0: @fd may have them, look; -ECANCELED: only @stop_fd is readable;
 *   -ETIMEDOUT; other -errno.
 */
int sdp_wait_fd(int fd, short events, int stop_fd, uint64_t deadline);

#endif
