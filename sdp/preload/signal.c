/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Stubs of the calls that install signal handlers: util/defer.h. */
#include <signal.h>

#include "util/defer.h"
#include "sock/base/real.h"
#include "sock/base/table.h"
#include "stubs.h"

EXPORT int sigaction(int sig, const struct sigaction *action,
		     struct sigaction *ret_old)
{
	return util_defer_sigaction(sdp_real()->sigaction,
				    action && sdp_is_owner(), sig, action,
				    ret_old);
}

#define STUB_SIGNAL(name)                                                      \
	EXPORT util_sighandler name(int sig, util_sighandler handler)          \
	{                                                                      \
		util_sighandler old = sdp_real()->name(sig, handler);          \
		return util_defer_installed(sdp_real()->sigaction,             \
					    sdp_is_owner(), sig, old);         \
	}

STUB_SIGNAL(signal)
STUB_SIGNAL(bsd_signal)
STUB_SIGNAL(ssignal)
STUB_SIGNAL(sysv_signal)
STUB_SIGNAL(__sysv_signal)
