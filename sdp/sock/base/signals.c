/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See signals.h. */
#include "signals.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/thread.h"
#include "nonblock.h"

bool sdp_signals_restart(void)
{
	struct sigaction action;
	bool is_any = false;

	for (int sig = 1; sig < NSIG; sig++) {
		/* A thread that sleeps causes no fault. */
		if (util_signal_is_fault(sig) ||
		    sigaction(sig, NULL, &action) < 0 ||
		    action.sa_handler == SIG_DFL ||
		    action.sa_handler == SIG_IGN)
			continue;
		if (!(action.sa_flags & SA_RESTART))
			return false;
		is_any = true;
	}
	return is_any;
}

bool sdp_signals_go_on(int fd, int flags)
{
	return (flags & MSG_DONTWAIT) || !sdp_is_blocking(fd) ||
	       sdp_signals_restart();
}

void sdp_signals_urgent(int tcp_fd)
{
	struct f_owner_ex owner = { .pid = 0 };

	if (syscall(SYS_fcntl, tcp_fd, F_GETOWN_EX, &owner) < 0 ||
	    owner.pid == 0)
		return;
	if (owner.type == F_OWNER_TID)
		syscall(SYS_tkill, owner.pid, SIGURG);
	else
		(void)kill(owner.type == F_OWNER_PGRP ? -owner.pid : owner.pid,
			   SIGURG);
}

void sdp_signals_pipe(void)
{
	syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGPIPE);
}
