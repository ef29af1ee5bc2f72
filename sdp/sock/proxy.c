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

#include "../../util/cancel.h"
#include "../../util/log.h"
#include "../../util/thread.h"
#include "connect.h"
#include "fd.h"
#include "option.h"
#include "real.h"
#include "relay.h"
#include "rights.h"
#include "share.h"
#include "start.h"
#include "verbs/sdp-link.h"

/* As long as a close() continues in the background. */
#define DRAIN_NS (60 * 1000000000ull)

/* ---- the proxy ---- */

/* Closes all descriptors except one high number of @sock and those of the
 * library. The program's pipes must end when the program ends. */
static void others_close(struct sdp_sock *sock, int fd)
{
	int high =
		(int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, SDP_STDIO_MAX + 1);
	int null;

	if (high < 0 || sdp_sock_add_fd(sock, high) < 0)
		sdp_real()->_exit(1);
	(void)sdp_fd_close_range(0, (unsigned int)high - 1, 0);
	(void)sdp_fd_close_range((unsigned int)high + 1, ~0u, 0);
	null = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR);
	for (int i = null + 1; null >= 0 && i <= SDP_STDIO_MAX; i++)
		syscall(SYS_dup3, null, i, 0);
}

__attribute__((noreturn)) static void proxy_main(struct sdp_sock *sock, int fd,
						 int way)
{
	prctl(PR_SET_NAME, "usiw-sdp-proxy");
	setsid();
	/* The parent kept the reference of this call. */
	sdp_sock_hold(sock);
	way = sdp_private_add(way);
	if (way < 0)
		sdp_real()->_exit(1);
	others_close(sock, fd);
	fd = sdp_sock_any_fd(sock);
	(void)sdp_start(sock, fd, SDP_START_WRITE);
	if (sdp_sock_state(sock) == SDP_SOCK_TCP || sdp_relay_enter(sock) < 0)
		sdp_real()->_exit(1);
	/* Passes the program's end of the pair. */
	(void)sdp_rights_send(way, "p", 1, fd);
	sdp_private_close(way);
	(void)sdp_fd_close(fd);
	sdp_relay_wait(sock);
	(void)sdp_verbs_drain(sdp_now_ns() + DRAIN_NS);
	sdp_real()->_exit(0);
	__builtin_unreachable();
}

/* ---- the program ---- */

/* The program did not start this child, so it must not get its SIGCHLD. */
static void child_reap(pid_t pid, bool was_pending)
{
	static const struct timespec zero;
	siginfo_t other = { 0 };
	sigset_t child;

	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	if (was_pending || sigtimedwait(&child, NULL, &zero) != SIGCHLD)
		return;
	/* Two signals may have been merged into one. */
	if (waitid(P_ALL, 0, &other, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    other.si_pid != 0)
		kill(getpid(), SIGCHLD);
}

/* Forks twice, so that no process has to wait for the proxy. Return: 0;
 * -errno. */
static int proxy_fork(struct sdp_sock *sock, int fd, const int *ways)
{
	sigset_t old, pending;
	pid_t pid;

	util_signals_block(&old);
	sigpending(&pending);
	sdp_share_fork_apart(true);
	pid = fork();
	if (pid == 0) {
		pid = fork();
		if (pid == 0)
			proxy_main(sock, fd, ways[1]);
		sdp_real()->_exit(0);
	}
	sdp_share_fork_apart(false);
	if (pid > 0)
		child_reap(pid, sigismember(&pending, SIGCHLD));
	util_signals_restore(&old);
	return pid > 0 ? 0 : -EAGAIN;
}

/* PENDING. Return: 0; -errno, and nothing has changed. */
static int proxy_start(struct sdp_sock *sock, int fd)
{
	int ways[2], ret;
	char octet;

	if (syscall(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
		    ways) < 0)
		return -errno;
	/* Both processes have the options. The TCP socket gets the ones that
	 * the RNIC needs. */
	sock->tcp_fd = fd;
	sdp_options_take(sock);
	sock->tcp_fd = -1;
	ret = proxy_fork(sock, fd, ways);
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
