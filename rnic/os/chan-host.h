/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What brings the events of a channel: an engine. A thread that waits for an
 * event does the engine's work in the meantime. So an arrival wakes that thread
 * only, and not the completion thread first.
 */
#ifndef RNIC_CHAN_HOST_H
#define RNIC_CHAN_HOST_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct rnic_chan;
struct rnic_chan_host;

struct rnic_chan_host_ops {
	/* References: the host stays valid memory with one, even if it has
	 * ended. */
	void (*get)(struct rnic_chan_host *host);
	void (*put)(struct rnic_chan_host *host);
	/*
	 * The calling thread is about to sleep until the returned descriptor is
	 * readable. Return: -EALREADY: there is news, to be served;
	 * -EAGAIN: the host's own thread brings the events this time.
	 */
	int (*rest)(struct rnic_chan_host *host);
	/* Makes progress, which may post an event to the channel. */
	void (*serve)(struct rnic_chan_host *host);
};

/* Part of the host. */
struct rnic_chan_host {
	const struct rnic_chan_host_ops *ops;
};

/*
 * @host brings the channel's next event. The channel takes a reference.
 * Return: true: a thread that waited for an event of this channel has done the
 *   work of @host lately, so that its own thread need not be woken for it.
 */
bool rnic_chan_set_host(struct rnic_chan *chan, struct rnic_chan_host *host);

/* Calls host->ops->serve(). Return: whether the thread has what it waits
 * for. */
typedef bool rnic_chan_serve_fn(struct rnic_chan_host *host, void *arg);

/*
 * The calling thread, whose signals are blocked, waits until the descriptor
 * @chan_fd is, or may be, readable, and calls @serve when the host has work. A
 * cancellation point. @app_signals: the mask of the application, which is in
 * force while the thread sleeps, and after a cancellation. So signal handlers
 * run only there, and may jump out of it.
 * Return: 1: @serve has returned true; 0: look at @chan_fd; -EAGAIN: sleep on
 *   @chan_fd alone; -EINTR: a signal handler without SA_RESTART may have run.
 */
int rnic_chan_host_attend(struct rnic_chan_host *host, int chan_fd,
			  const sigset_t *app_signals,
			  rnic_chan_serve_fn *serve, void *arg);

#endif
