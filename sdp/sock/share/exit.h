/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The end of the process, or of its program: what its sockets still have is
 * sent, within a limited time. A start that still owes octets (owed.h) then
 * ends by a reset.
 */
#ifndef SDP_SOCK_EXIT_H
#define SDP_SOCK_EXIT_H

#include <stdbool.h>

/* Afterwards no other thread returns from a call. @has_stdio: also flushes
 * libc's streams. */
void sdp_exit_run(bool has_stdio);

/*
 * Another program replaces this one, if it can. Waits as at exit for what
 * closed sockets have, and 2 seconds for what open ones have, which end with
 * this program. No handler runs meanwhile. Does nothing in a vfork child.
 */
void sdp_exit_exec(void);

#endif
