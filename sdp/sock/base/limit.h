/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Descriptors of the library need not fit below the program's limit.
 *
 * A connection needs three descriptors beside the program's number. Near the
 * soft limit of RLIMIT_NOFILE, the limit is raised to the hard limit while a
 * start makes them. So connections are made as long as the program has numbers
 * and the hard limit allows. Those of the library that lie below the soft limit
 * are not the program's.
 */
#ifndef SDP_SOCK_LIMIT_H
#define SDP_SOCK_LIMIT_H

#include <stdbool.h>

/* Raises the limit for a start; @fd: any open descriptor. Return: argument for
 * sdp_limit_end(). */
bool sdp_limit_begin(int fd);
void sdp_limit_end(bool is_raised);

/* Whether a start can get its descriptors, given those that are open. With a
 * hard limit of 32 only TCP works. @fd: any open descriptor. */
bool sdp_limit_is_enough(int fd);

void sdp_limit_fork_child(void);

#endif
