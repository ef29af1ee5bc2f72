/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Whether a system call that a signal has ended is to be made again. */
#ifndef SDP_SOCK_SIGNALS_H
#define SDP_SOCK_SIGNALS_H

#include <stdbool.h>

/*
 * poll() and its kin end by every signal handler, what they stand in for only
 * by one without SA_RESTART.  Which handler it was nobody says; so the call is
 * made again if all handlers of the process have SA_RESTART.
 */
bool sdp_signals_restart(void);

/* SIGPIPE for this thread, as a send on a closed stream makes it. */
void sdp_signals_pipe(void);

#endif
