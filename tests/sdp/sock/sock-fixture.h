/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Common parts of the tests of sdp/sock: the table, and sockets in it without
 * real ends. */
#ifndef SOCK_FIXTURE_H
#define SOCK_FIXTURE_H

#include <sys/socket.h>
#include <unistd.h>

#include "test.h"

#include "sock/base/table.h"

/* For a group of tests. */
static inline int table_start(void **state)
{
	return sdp_table_start();
}

static inline void close_nothing(struct util_file *file)
{
	(void)file;
}

static inline void end_nothing(struct sdp_sock *sock)
{
	(void)sock;
}

/* Adds a socket for that number. The test holds it until sdp_sock_drop(). */
static inline struct sdp_sock *sock_add(int fd,
					void (*on_end)(struct sdp_sock *sock))
{
	struct sdp_sock *sock =
		sdp_sock_add(fd, AF_INET, close_nothing, on_end);

	assert_non_null(sock);
	sdp_sock_hold(sock);
	return sock;
}

/* Does what close() of the program does. */
static inline void program_close(int fd)
{
	util_fdtab_uninstall(atomic_load(&sdp_fds), fd, NULL);
	close(fd);
}

#endif
