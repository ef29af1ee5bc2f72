/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See adopt.h. */
#include "adopt.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/keep-errno.h"
#include "end.h"
#include "sock/base/mark.h"
#include "relay-name.h"
#include "sock/base/rights.h"

/* Programs expect inherited sockets among their first descriptors. */
#define INHERITED_MAX 64

static void peer_take(struct sdp_sock *sock, int fd, uint16_t port)
{
	if (sdp_addr_get(fd, true, &sock->peer) == 0)
		sdp_addr_set_port(&sock->peer, port);
}

/*
 * inetd and git daemon pass one connection to a program as descriptors 0 and 1.
 * The inode number of the socket shows that both are the same socket. Two
 * separate entries would divide its octets between two connections. Return:
 * whether @fd was adopted.
 */
static bool adopt_duplicate(int fd)
{
	struct sdp_sock *sock;
	struct stat own, other;
	bool is_same = false;

	/* relaxed: this thread sees what it adopted itself */
	if (!atomic_load_explicit(&sdp_pending_cnt, memory_order_relaxed) ||
	    fstat(fd, &own) < 0)
		return false;
	for (int i = 0; i < INHERITED_MAX && !is_same; i++) {
		sock = i == fd ? NULL : sdp_sock_get(i);
		if (!sock)
			continue;
		is_same = sdp_sock_state(sock) == SDP_SOCK_PENDING &&
			  fstat(i, &other) == 0 && own.st_dev == other.st_dev &&
			  own.st_ino == other.st_ino &&
			  sdp_sock_add_fd(sock, fd) == 0;
		sdp_sock_put(sock);
	}
	return is_same;
}

static struct sdp_sock *fd_add(int fd, int family)
{
	struct sdp_sock *sock =
		sdp_sock_add(fd, family, sdp_sock_close, sdp_sock_end);
	long flags = syscall(SYS_fcntl, fd, F_GETFL);

	if (sock)
		sock->is_nonblock = flags > 0 && (flags & O_NONBLOCK);
	return sock;
}

/* Adopts an AF_UNIX stream that another process relays to its connection. */
static void relay_adopt(int fd)
{
	union sdp_addr local, peer;
	struct sdp_sock *sock;

	if (sdp_fd_kind(fd) != SDP_FD_NONE ||
	    !sdp_relay_name_get(fd, &local, &peer))
		return;
	sock = fd_add(fd, local.sa.sa_family);
	if (!sock)
		return;
	sock->local = local;
	sock->peer = peer;
	sock->relay.is_on = true;
	sdp_sock_become(sock, SDP_SOCK_RELAY);
}

void sdp_adopt_fd(int fd)
{
	UTIL_KEEP_ERRNO();
	struct sdp_sock *sock;
	struct sdp_mark mark;

	if (sdp_fd_kind(fd) != SDP_FD_NONE || !sdp_mark_get(fd, &mark) ||
	    adopt_duplicate(fd))
		goto out;
	sock = fd_add(fd, sdp_addr_family(fd));
	if (!sock)
		goto out;
	sock->is_accepting = mark.is_accepting;
	sock->is_request = mark.is_request;
	sock->port = mark.port;
	peer_take(sock, fd, sock->is_accepting ? 0 : sock->port);
	sdp_sock_become(sock, SDP_SOCK_PENDING);
out:
	relay_adopt(fd);
}

void sdp_adopt_inherited(void)
{
	for (int fd = 0; fd < INHERITED_MAX; fd++)
		sdp_adopt_fd(fd);
}

void sdp_adopt_message(const struct msghdr *msg)
{
	sdp_rights_each(msg, sdp_adopt_fd);
}
