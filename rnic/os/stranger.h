/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * AF_UNIX sockets whose other end is not trusted.
 *
 * It may pass descriptors (SCM_RIGHTS) of files whose close() takes any time: a
 * TCP socket with SO_LINGER, a file of a FUSE server that does not answer.  The
 * kernel closes them in the thread that takes the message from the queue, or
 * closes the socket with the message in it.  So messages are looked at before
 * they are taken, and what is unknown is closed by a thread of its own.
 *
 * No call here blocks.  Descriptors are in the fd table.  @ret_from: of a
 * socket with SO_PASSCRED; NULL: of one without.
 */
#ifndef RNIC_STRANGER_H
#define RNIC_STRANGER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/clock.h"

/* Who has sent a datagram. */
struct rnic_stranger {
	uid_t uid;
	struct sockaddr_un name;
	socklen_t name_len; /* 0: it has none */
};

/* Is it a process of this user? */
static inline bool rnic_stranger_is_own(const struct rnic_stranger *from)
{
	return from->uid == getuid();
}

/*
 * As recv().  Return: octets; 0: the end of a stream, or a datagram without
 * any, which is taken; -EPROTO: descriptors are next in the queue, and stay
 * there; other -errno.
 */
ssize_t rnic_stranger_recv(int fd, void *mem, size_t len,
			   struct rnic_stranger *ret_from);

/*
 * Of a connection: from now on the kernel refuses what passes descriptors to it
 * (Linux 6.16).  Return: whether it has none, nor gets any:
 * rnic_stranger_recv_octets() does for it.
 */
bool rnic_stranger_refuse_fds(int fd);
/* As rnic_stranger_recv(), with one system call. */
ssize_t rnic_stranger_recv_octets(int fd, void *mem, size_t len);

/*
 * A message of @len octets and one descriptor, for which @check returns 0.
 * @check: must not block, whatever file it is.
 * Return: the descriptor, which is the caller's and not in the fd table;
 *   -EAGAIN: there is no message; -EPROTO: it is another one, or @check has
 *   refused; other -errno.
 */
int rnic_stranger_recv_fd(int fd, void *mem, size_t len, int (*check)(int fd),
			  struct rnic_stranger *ret_from);

/*
 * Its counterpart.  @to: NULL: the socket is connected.  @passed: -1: none.
 * Does not block.  Return: 0; -EIO: not all of a message to a stream; -errno.
 */
int rnic_stranger_send_fd(int fd, const struct sockaddr_un *to,
			  socklen_t to_len, const void *mem, size_t len,
			  int passed);

/* As accept4(), as long as rnic_fd_is_spare(), else -EMFILE.  Return: the
 * connection; -errno. */
int rnic_stranger_accept(int listen_fd);

/*
 * Descriptors are next in the queue of a socket with SO_PASSCRED: a thread of
 * its own takes that message, soon.  Until then, or if no thread can be had,
 * the next call says -EPROTO again: the caller looks at the socket after
 * RNIC_STRANGER_DROP_NS, and not before.  What is behind the message stays,
 * also if the caller asks once more while the thread is at it.
 */
#define RNIC_STRANGER_DROP_NS (10 * NS_PER_MS)
void rnic_stranger_drop(int fd);

/* In a forked child: the parent's threads are not here. */
void rnic_stranger_fork_child(void);

/* As rnic_fd_close().  Negative: nothing. */
void rnic_stranger_close(int fd);
/* The same for a socket that other processes have, too, and go on with. */
void rnic_stranger_close_shared(int fd);
/* The same for a listening socket, with the connections that wait there. */
void rnic_stranger_close_listener(int fd);

#endif
