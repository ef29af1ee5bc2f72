/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The file of an event channel: an eventfd in semaphore mode, one token per
 * queued record. So the kernel implements read, poll, epoll and O_NONBLOCK on
 * the application's number.
 *
 * The channel keeps a separate number for it, which the application does not
 * get and which stays open as long as the channel. So a thread that waits, or
 * is about to wait, waits on the same file whatever the application does with
 * its numbers.
 */
#ifndef RNIC_EVFD_H
#define RNIC_EVFD_H

#include <stdbool.h>

struct util_lock;

/* Return: the channel's own number, to be closed by rnic_fd_close(); -errno. */
int rnic_evfd_open(void);

/* Return: a number for the application, close-on-exec; -errno. */
int rnic_evfd_share(int fd);

/* The same with a number that a forked child has inherited, and with its flags.
 * Return: 0; -errno. */
int rnic_evfd_share_as(int fd, int inherited_fd);

/* Adds a token. Cannot block or fail. */
void rnic_evfd_post(int fd);

/* Under the lock of the queue. Takes a token if there is one, never blocks.
 * Return: false: there is none. */
bool rnic_evfd_take(int fd);

/* The same without the lock of the queue, @lock. */
bool rnic_evfd_take_unlocked(int fd, struct util_lock *lock);

/* Has the application set O_NONBLOCK? */
bool rnic_evfd_is_nonblocking(int fd);

/*
 * Waits for a token and takes it. A cancellation point. @lock: of the queue,
 * not held. The record may have been removed with its source before the caller
 * reads it; then it waits again.
 * Return: 0; -EAGAIN: O_NONBLOCK, and there is none; -EINTR.
 */
int rnic_evfd_wait(int fd, struct util_lock *lock);

#endif
