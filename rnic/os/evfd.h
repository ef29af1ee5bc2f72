/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What is behind the number of an event channel: an eventfd in semaphore mode,
 * one token per queued record, so that read, poll, epoll and O_NONBLOCK on the
 * application's number are the kernel's own.
 *
 * The channel keeps a number of its own for it, which the application does not
 * know and which stays open as long as the channel.  So a thread that is inside
 * a wait, or about to enter it, waits on the same file whatever becomes of the
 * application's numbers.
 */
#ifndef RNIC_EVFD_H
#define RNIC_EVFD_H

#include <stdbool.h>

struct util_lock;

/* Return: the channel's own number, to be closed by rnic_fd_close(); -errno. */
int rnic_evfd_open(void);

/* Return: a number for the application, close-on-exec; -errno. */
int rnic_evfd_share(int fd);

/* The same behind a number that a forked child has inherited, with the flags
 * that it has.  Return: 0; -errno. */
int rnic_evfd_share_as(int fd, int inherited_fd);

/* One more token; cannot block or fail. */
void rnic_evfd_post(int fd);

/* Under the lock of the queue.  Takes a token if there is one, never blocks.
 * Return: false: there is none. */
bool rnic_evfd_take(int fd);

/*
 * Wait for a token and take it: a cancellation point.  @lock: of the queue, not
 * held.  The record may be gone when the caller looks for it, taken back with
 * its source: then it waits again.
 * Return: 0; -EAGAIN: O_NONBLOCK, and there is none; -EINTR.
 */
int rnic_evfd_wait(int fd, struct util_lock *lock);

#endif
