/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Descriptors of the library's own do not count against the program's limit.
 *
 * A connection takes three beside the program's number.  Near the soft limit of
 * RLIMIT_NOFILE it is set to the hard limit while a start makes them.  So a
 * program has as many connections as with TCP, as far as the hard limit goes.
 */
#ifndef SDP_SOCK_LIMIT_H
#define SDP_SOCK_LIMIT_H

#include <stdbool.h>

/* Around a start; @fd: any open descriptor.  Return: for _end. */
bool sdp_limit_begin(int fd);
void sdp_limit_end(bool is_raised);

/* Whether a start has what it takes at all, beside what is open: with a hard
 * limit of 32 it is TCP that works.  @fd: any open descriptor. */
bool sdp_limit_is_enough(int fd);

void sdp_limit_fork_child(void);

#endif
