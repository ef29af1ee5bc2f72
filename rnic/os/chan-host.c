/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A thread that waits for an event does the work of the channel's host. */
#define _GNU_SOURCE /* ppoll() */
#include "chan-host.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "util/keep-errno.h"
#include "util/thread.h"

/*
 * Would read() go on after a signal handler has run?  poll() never does, and
 * does not tell which one it was.
 */
static bool do_handlers_restart(void)
{
	struct sigaction action;

	for (int sig = 1; sig < NSIG; sig++) {
		/* A thread that sleeps causes no fault. */
		if (util_signal_is_fault(sig) ||
		    sigaction(sig, NULL, &action) < 0 ||
		    action.sa_handler == SIG_DFL ||
		    action.sa_handler == SIG_IGN)
			continue;
		if (!(action.sa_flags & SA_RESTART))
			return false;
	}
	return true;
}

static void restore_signals(void *old)
{
	util_signals_restore(old);
}

static int host_sleep(int host_fd, int chan_fd, const sigset_t *app_signals)
{
	struct pollfd pfd[] = { { .fd = chan_fd, .events = POLLIN },
				{ .fd = host_fd, .events = POLLIN } };
	int cnt;

	pthread_cleanup_push(restore_signals, (void *)(uintptr_t)app_signals);
	cnt = ppoll(pfd, 2, NULL, app_signals);
	pthread_cleanup_pop(0);
	if (cnt < 0)
		return -errno;
	if (pfd[1].revents & POLLNVAL)
		return -EAGAIN; /* the application has closed it */
	return pfd[0].revents ? 0 : -EALREADY;
}

int rnic_chan_host_attend(struct rnic_chan_host *host, int chan_fd,
			  const sigset_t *app_signals,
			  rnic_chan_serve_fn *serve, void *arg)
{
	UTIL_KEEP_ERRNO();
	int ret, fd;

	ret = fd = host->ops->rest(host);
	if (fd >= 0)
		ret = host_sleep(fd, chan_fd, app_signals);
	if (ret == -EALREADY)
		ret = serve(host, arg);
	if (ret == -EINTR && do_handlers_restart())
		ret = 0;
	return ret;
}
