/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Signals that a socket sends, and calls that a signal ends. */
#ifndef SDP_SOCK_SIGNALS_H
#define SDP_SOCK_SIGNALS_H

#include <stdbool.h>

#include "table.h"

/*
 * Every signal handler interrupts poll() and similar calls.  The blocking calls
 * that the library implements with them are interrupted only by a handler
 * without SA_RESTART.  The library does not learn which handler ran, so it
 * repeats the call if all handlers of the process have SA_RESTART.  Handlers of
 * faults do not count.
 */
bool sdp_signals_restart(void);

/* SIGPIPE for this thread, as a send on a closed stream makes it. */
void sdp_signals_pipe(void);

/*
 * SIGIO is the kernel's to send, when the shadow shows something: so O_ASYNC
 * keeps it up to date, as an epoll set does.  SIGURG is ours: the owner is
 * noted at the TCP socket below.
 */

/* @cmd: F_SETOWN, F_SETOWN_EX with @arg.  Return: 0; -errno. */
int sdp_signals_own(struct sdp_sock *sock, int cmd, const void *arg);

/* SIGURG for the owner, if there is one. */
void sdp_signals_urgent(int tcp_fd);

#endif
