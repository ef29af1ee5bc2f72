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

void sdp_limit_fork_child(void);

#endif
