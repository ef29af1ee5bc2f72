/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See signals.h. */
#include "signals.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

bool sdp_signals_restart(void)
{
	struct sigaction action;
	bool is_any = false;

	for (int sig = 1; sig < NSIG; sig++) {
		if (sigaction(sig, NULL, &action) < 0 ||
		    action.sa_handler == SIG_DFL ||
		    action.sa_handler == SIG_IGN)
			continue;
		if (!(action.sa_flags & SA_RESTART))
			return false;
		is_any = true;
	}
	return is_any;
}

void sdp_signals_pipe(void)
{
	syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGPIPE);
}
