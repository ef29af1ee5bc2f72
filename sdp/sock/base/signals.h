/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Signals that a socket sends, and signals that interrupt calls. */
#ifndef SDP_SOCK_SIGNALS_H
#define SDP_SOCK_SIGNALS_H

#include <stdbool.h>

#include "table.h"

/*
 * Every signal handler interrupts poll() and similar calls. The library uses
 * them to implement blocking calls, which only a handler without SA_RESTART may
 * interrupt. The library does not learn which handler ran, so it repeats the
 * call if all handlers of the process have SA_RESTART. Handlers of faults do
 * not count.
 */
bool sdp_signals_restart(void);

/* A handler has run before a call of the kernel. Return: whether the call is
 * made nevertheless: no signal interrupts one that does not sleep, by
 * O_NONBLOCK or MSG_DONTWAIT in @flags; others as by sdp_signals_restart(). */
bool sdp_signals_go_on(int fd, int flags);

/* Sends SIGPIPE to this thread, like a send on a closed stream. */
void sdp_signals_pipe(void);

/*
 * The kernel sends SIGIO when the shadow shows an event. So O_ASYNC keeps the
 * shadow up to date, like an epoll set. The library sends SIGURG to the owner
 * of the TCP socket below, if it has one.
 */
void sdp_signals_urgent(int tcp_fd);

#endif
