/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See shadow.h. */
#include "shadow.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/cancel.h"
#include "util/keep-errno.h"
#include "util/sockopt.h"

/* Maximum number of octets that separate edges. One octet that the program has
 * not seen serves for all later news. */
#define OCTETS_MAX 64
/*
 * The program's end reports POLLOUT while the octets that it has sent take less
 * than a quarter of the smallest SO_SNDBUF. One octet always stays in the
 * library's end, so closing that end causes ERR as well as HUP. FILL_SIZE
 * octets and one more clear POLLOUT. Reading that many sets it again and leaves
 * the one octet.
 */
#define FILL_SIZE 1024

static long pair_send(int fd, const void *buf, size_t len)
{
	return syscall(SYS_sendto, fd, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL,
		       NULL, 0);
}

static long pair_recv(int fd, void *buf, size_t len)
{
	return syscall(SYS_recvfrom, fd, buf, len, MSG_DONTWAIT, NULL, NULL);
}

int sdp_shadow_open(struct sdp_shadow *shadow, int flags)
{
	int pair[2], ret;

	if (syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
		    pair) < 0)
		return -errno;
	if ((flags & O_NONBLOCK) &&
	    syscall(SYS_fcntl, pair[0], F_SETFL, O_RDWR | O_NONBLOCK) < 0)
		goto err;
	/* A small buffer, so that few octets fill it. */
	util_sockopt_set(pair[0], SOL_SOCKET, SO_SNDBUF, 1);
	/* An urgent octet is then read in line with the others. */
	util_sockopt_set(pair[0], SOL_SOCKET, SO_OOBINLINE, 1);
	if (pair_send(pair[0], "", 1) != 1)
		goto err;
	ret = sdp_private_add(pair[1]);
	if (ret < 0) {
		errno = -ret;
		goto err;
	}
	shadow->lib_fd = ret;
	shadow->is_out = true;
	return pair[0];
err:
	ret = -errno;
	util_sys_close(pair[0]);
	util_sys_close(pair[1]);
	return ret;
}

/* ---- readable ---- */

static void in_show(struct sdp_shadow *shadow)
{
	if (shadow->octets >= OCTETS_MAX)
		return;
	if (pair_send(shadow->lib_fd, "", 1) == 1)
		shadow->octets++;
	shadow->is_in = true;
}

/* Reads all octets but @left from the program's end. */
static void in_drain(struct sdp_shadow *shadow, int fd, uint32_t left)
{
	char buf[OCTETS_MAX];
	long ret;

	while (shadow->octets > left) {
		ret = pair_recv(fd, buf, shadow->octets - left);
		if (ret <= 0)
			break;
		shadow->octets -= (uint32_t)ret;
	}
}

static void in_hide(struct sdp_shadow *shadow, int fd)
{
	in_drain(shadow, fd, 0);
	shadow->is_in = false;
	shadow->is_pri = false;
}

/* The octet also causes POLLIN, but a wait for POLLPRI alone does not see that.
 * A kernel before 5.15 has no urgent octets here. */
static void pri_show(struct sdp_shadow *shadow)
{
	if (shadow->octets >= OCTETS_MAX ||
	    syscall(SYS_sendto, shadow->lib_fd, "", 1,
		    MSG_OOB | MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0) != 1)
		return;
	shadow->octets++;
	shadow->is_pri = true;
}

/* ---- writable ---- */

static void out_show(struct sdp_shadow *shadow)
{
	char buf[FILL_SIZE + 1];
	size_t left = sizeof(buf);
	long ret;

	while (left > 0) {
		ret = pair_recv(shadow->lib_fd, buf, left);
		if (ret <= 0)
			break;
		left -= (size_t)ret;
	}
	shadow->is_out = true;
}

static void out_hide(struct sdp_shadow *shadow, int fd)
{
	static const char zeros[FILL_SIZE];

	if (pair_send(fd, zeros, FILL_SIZE) != FILL_SIZE)
		return;
	(void)pair_send(fd, zeros, 1);
	shadow->is_out = false;
}

/* ---- end of links ---- */

void sdp_shadow_close(struct sdp_shadow *shadow)
{
	int fd = shadow->lib_fd;

	shadow->is_gone = true;
	shadow->lib_fd = -1;
	sdp_private_close(fd);
}

/* HUP: the library's end is closed. If it has unread octets, ERR too. */
static void end_show(struct sdp_shadow *shadow, bool is_error)
{
	char buf[FILL_SIZE];

	while (!is_error && pair_recv(shadow->lib_fd, buf, sizeof(buf)) > 0)
		;
	shadow->is_out = true;
	sdp_shadow_close(shadow);
}

static void rdhup_show(struct sdp_shadow *shadow)
{
	syscall(SYS_shutdown, shadow->lib_fd, SHUT_WR);
	shadow->is_rdhup = shadow->is_in = true;
}

void sdp_shadow_show(struct sdp_shadow *shadow, int fd, short events,
		     short arrival)
{
	UTIL_KEEP_ERRNO();

	if (shadow->lib_fd < 0)
		return;
	/* Before the octet that is POLLIN: an end is both at once. */
	if ((events & (POLLRDHUP | POLLHUP)) && !shadow->is_rdhup)
		rdhup_show(shadow);
	if (!(events & POLLPRI) && shadow->is_pri && fd >= 0)
		in_hide(shadow, fd);
	if ((events & POLLIN) && !shadow->is_in)
		in_show(shadow);
	else if ((events & POLLIN) && (arrival & POLLIN) && shadow->has_edges &&
		 !shadow->is_rdhup)
		in_show(shadow);
	else if ((events & POLLIN) && shadow->octets > 1 && fd >= 0 &&
		 !shadow->is_pri)
		in_drain(shadow, fd, 1);
	else if (!(events & POLLIN) && shadow->is_in && fd >= 0)
		in_hide(shadow, fd);
	if ((events & POLLPRI) && (!shadow->is_pri || (arrival & POLLPRI)))
		pri_show(shadow);
	if ((events & POLLOUT) && !shadow->is_out)
		out_show(shadow);
	else if (!(events & POLLOUT) && shadow->is_out && fd >= 0)
		out_hide(shadow, fd);
	if (events & (POLLHUP | POLLERR))
		end_show(shadow, events & POLLERR);
}
