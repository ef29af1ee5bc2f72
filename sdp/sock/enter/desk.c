/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See desk.h. */
#include "desk.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "util/cancel.h"
#include "util/lock.h"
#include "util/sockopt.h"
#include "util/thread.h"
#include "sock/base/addr.h"
#include "sock/base/limit.h"
#include "sock/base/table.h"
#include "verbs/sdp-link.h"

#define BACKLOG 128
/* Threads at a time. Others that come are closed, and their connections stay
 * TCP. */
#define SERVED_MAX 64

static struct util_lock lock = UTIL_LOCK_INIT(UTIL_RANK_LEAF);
static int desk_fd = -1;
static int desk_port;
static bool (*desk_expects)(const union sdp_addr *from);
static void (*desk_serve)(int fd);
static _Atomic uint32_t served_cnt;

static void *serve_thread(void *arg)
{
	sdp_inside_enter();
	sdp_verbs_own_thread();
	desk_serve((int)(intptr_t)arg);
	atomic_fetch_sub_explicit(&served_cnt, 1, memory_order_relaxed);
	return NULL;
}

static void admit(int fd, const union sdp_addr *from)
{
	fd = sdp_private_take(fd);
	if (fd < 0)
		return;
	if (!desk_expects(from)) {
		sdp_private_close(fd);
		return;
	}
	if (atomic_fetch_add_explicit(&served_cnt, 1, memory_order_relaxed) <
		    SERVED_MAX &&
	    util_thread_run(serve_thread, (void *)(intptr_t)fd,
			    UTIL_THREAD_STACK) == 0)
		return;
	atomic_fetch_sub_explicit(&served_cnt, 1, memory_order_relaxed);
	sdp_private_close(fd);
}

static void *desk_thread(void *arg)
{
	struct pollfd pfd = { .fd = (int)(intptr_t)arg, .events = POLLIN };
	static const struct timespec nap = { .tv_nsec = 10000000 };
	union sdp_addr from;
	socklen_t len;
	bool is_raised;
	int fd;

	sdp_inside_enter();
	while (util_sys_poll(&pfd, 1, -1) > 0 || errno == EINTR) {
		is_raised = sdp_limit_begin(pfd.fd);
		len = sizeof(from);
		fd = (int)syscall(SYS_accept4, pfd.fd, &from, &len,
				  SOCK_CLOEXEC);
		if (fd >= 0)
			admit(fd, &from);
		else
			nanosleep(&nap, NULL); /* no descriptor is left */
		sdp_limit_end(is_raised);
	}
	return NULL;
}

/* Both families. Return: descriptor; -errno. */
static int listener_make(int *ret_port)
{
	union sdp_addr any = { .in6 = { .sin6_family = AF_INET6 } };
	int fd, ret;

	fd = (int)syscall(SYS_socket, AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0) {
		util_sockopt_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
	} else {
		any = (union sdp_addr){ .in = { .sin_family = AF_INET } };
		fd = (int)syscall(SYS_socket, AF_INET,
				  SOCK_STREAM | SOCK_CLOEXEC, 0);
	}
	fd = sdp_private_take(fd);
	if (fd < 0)
		return fd;
	if (syscall(SYS_bind, fd, &any, sdp_addr_len(&any)) < 0 ||
	    syscall(SYS_listen, fd, BACKLOG) < 0)
		ret = -errno;
	else
		ret = sdp_addr_get(fd, false, &any);
	*ret_port = sdp_addr_port(&any);
	if (ret == 0)
		return fd;
	sdp_private_close(fd);
	return ret;
}

int sdp_desk_open(bool (*expects)(const union sdp_addr *from),
		  void (*serve)(int fd))
{
	int ret = 0;

	util_lock(&lock);
	if (desk_fd < 0) {
		desk_expects = expects;
		desk_serve = serve;
		ret = desk_fd = listener_make(&desk_port);
		if (ret >= 0)
			ret = util_thread_run(desk_thread,
					      (void *)(intptr_t)desk_fd,
					      UTIL_THREAD_STACK);
		if (ret < 0) {
			sdp_private_close(desk_fd);
			desk_fd = -1;
		}
	}
	util_unlock(&lock);
	return ret < 0 ? ret : desk_port;
}

void sdp_desk_fork_child(void)
{
	util_lock_init(&lock, UTIL_RANK_LEAF);
	sdp_private_close(desk_fd);
	desk_fd = -1;
	atomic_store_explicit(&served_cnt, 0, memory_order_relaxed);
}
