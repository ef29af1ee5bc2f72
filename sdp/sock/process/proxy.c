/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See proxy.h. */
#include "proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cancel.h"
#include "log.h"
#include "thread.h"
#include "sock/enter/enter.h"
#include "sock/start/connect.h"
#include "sock/io/fd.h"
#include "sock/base/option.h"
#include "sock/base/real.h"
#include "sock/share/relay.h"
#include "sock/base/rights.h"
#include "sock/share/share.h"
#include "sock/start/start.h"
#include "verbs/sdp-link.h"

/* As long as a close() continues in the background. */
#define DRAIN_NS (60 * 1000000000ull)

/* ---- the proxy ---- */

void sdp_proxy_part(int keep)
{
	int null;

	prctl(PR_SET_NAME, "usiw-sdp-proxy");
	setsid();
	if (keep > 0)
		(void)sdp_fd_close_range(0, (unsigned int)keep - 1, 0);
	(void)sdp_fd_close_range((unsigned int)(keep + 1), ~0u, 0);
	null = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR);
	for (int i = null + 1; null >= 0 && i <= SDP_STDIO_MAX; i++)
		syscall(SYS_dup3, null, i, 0);
}

struct proxy {
	struct sdp_sock *sock;
	int fd;
	int way; /* to the program */
};

static void proxy_run(void *arg)
{
	const struct proxy *proxy = arg;
	struct sdp_sock *sock = proxy->sock;
	int way = sdp_private_add(proxy->way);
	int fd = (int)syscall(SYS_fcntl, proxy->fd, F_DUPFD_CLOEXEC,
			      SDP_STDIO_MAX + 1);

	/* The parent kept the reference of this call. */
	sdp_sock_hold(sock);
	if (way < 0 || fd < 0 || sdp_sock_add_fd(sock, fd) < 0)
		sdp_real()->_exit(1);
	sdp_proxy_part(fd);
	(void)sdp_start(sock, fd, SDP_START_WRITE);
	if (sdp_sock_state(sock) == SDP_SOCK_TCP || sdp_relay_enter(sock) < 0)
		sdp_real()->_exit(1);
	/* Passes the program's end of the pair. */
	(void)sdp_rights_send(way, "p", 1, fd);
	sdp_private_close(way);
	(void)sdp_fd_close(fd);
	sdp_relay_wait(sock);
	(void)sdp_verbs_drain(sdp_now_ns() + DRAIN_NS);
}

/* ---- the program ---- */

/* The program did not start this child, so it must not get its SIGCHLD.
 * Return: whether the child succeeded. */
static bool child_reap(pid_t pid, bool was_pending)
{
	static const struct timespec zero;
	siginfo_t other = { 0 };
	int status = 0;
	sigset_t child;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	if (was_pending || sigtimedwait(&child, NULL, &zero) != SIGCHLD)
		return status == 0;
	/* Two signals may have been merged into one. */
	if (waitid(P_ALL, 0, &other, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    other.si_pid != 0)
		kill(getpid(), SIGCHLD);
	return status == 0;
}

/* Forks twice, so that no process has to wait for the proxy. */
int sdp_proxy_fork(void (*run)(void *arg), void *arg)
{
	sigset_t old, pending;
	bool is_there;
	pid_t pid;

	util_signals_block(&old);
	sigpending(&pending);
	sdp_share_fork_apart(true);
	pid = fork();
	if (pid == 0) {
		pid = fork();
		if (pid == 0)
			run(arg);
		sdp_real()->_exit(pid < 0);
	}
	sdp_share_fork_apart(false);
	is_there = pid > 0 && child_reap(pid, sigismember(&pending, SIGCHLD));
	util_signals_restore(&old);
	return is_there ? 0 : -EAGAIN;
}

/* PENDING. Return: 0; -errno, and nothing has changed. */
static int proxy_start(struct sdp_sock *sock, int fd)
{
	struct proxy proxy = { .sock = sock, .fd = fd };
	int ways[2], ret;
	char octet;

	if (syscall(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
		    ways) < 0)
		return -errno;
	proxy.way = ways[1];
	/* Both processes have the options. The TCP socket gets the ones that
	 * the RNIC needs. */
	sdp_options_take(sock, fd);
	ret = sdp_proxy_fork(proxy_run, &proxy);
	util_sys_close(ways[1]);
	if (ret == 0)
		ret = sdp_rights_receive(ways[0], &octet, 1);
	util_sys_close(ways[0]);
	if (ret < 0)
		return ret;
	sdp_start_elsewhere(sock, fd, ret);
	util_sys_close(ret);
	return 0;
}

void sdp_proxy_stdio(int fd)
{
	/* In a vfork child the table belongs to the parent. */
	struct sdp_sock *sock = sdp_is_owner() ? sdp_sock_get(fd) : NULL;
	int err = errno;
	bool old;

	if (!sock)
		return;
	old = sdp_inside_enter();
	sdp_enter_never(sock);
	sdp_connect_settle(sock, fd);
	if (sdp_sock_state(sock) == SDP_SOCK_PENDING &&
	    proxy_start(sock, fd) < 0) {
		util_info("sdp",
			  "cannot start a proxy for descriptor %d: it "
			  "relays it",
			  fd);
		(void)sdp_start(sock, fd, SDP_START_WRITE);
	}
	(void)sdp_relay_enter(sock);
	sdp_share_use(sock);
	sdp_inside_leave(old);
	sdp_sock_put(sock);
	errno = err;
}

void sdp_proxy_inherited(void)
{
	for (int fd = 0; fd <= SDP_STDIO_MAX; fd++)
		sdp_proxy_stdio(fd);
}
