/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The sockets of the UDP port are the same ones in all processes of a user. */
#include "share.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "loop/loop.h"
#include "os/addr.h"
#include "os/fd.h"
#include "os/stranger.h"
#include "os/tcp.h"

/* Of the name, and of the message. */
#define SHARE_VERSION 1u
#define SHARE_MAGIC 0x75736470u
/* Each time but the last, who was asked has ended. */
#define SHARE_ASK_MAX 16u

/* What a message passes.  The listener is the last. */
enum { SHARE_LISTENER = RNIC_SHARE_CNT, SHARE_FDS };

struct share_msg {
	uint32_t magic;
	uint32_t which;
};

/* Guarded by the loop's lock. */
static struct {
	int fd[SHARE_FDS]; /* the listener's is our own; -1 */
	int ask_fd;	   /* the connection to who was asked; -1 */
	uint32_t listener_watched, ask_watched;
	uint32_t ask_cnt;
	uid_t uid; /* whose the name is: the process may become another's */
} share = { .fd = { -1, -1, -1 }, .ask_fd = -1 };

static socklen_t share_name(struct sockaddr_un *sun)
{
	int len;

	memset(sun, 0, sizeof(*sun));
	sun->sun_family = AF_UNIX;
	len = snprintf(sun->sun_path + 1, sizeof(sun->sun_path) - 1,
		       "usiw-udp/%u/%u", SHARE_VERSION, share.uid);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)len);
}

static bool peer_is_own(int fd)
{
	uid_t uid;

	return rnic_sock_peer(fd, &uid) >= 0 && uid == share.uid;
}

/* ---- first --------------------------------------------------------------- */

static void listener_close(void)
{
	if (share.listener_watched)
		(void)rnic_loop_watch(share.fd[SHARE_LISTENER], RNIC_LOOP_UDP,
				      RNIC_SHARE_LISTENER, 0,
				      &share.listener_watched);
	/* No shutdown(): others listen there. */
	rnic_fd_close(share.fd[SHARE_LISTENER]);
	share.fd[SHARE_LISTENER] = -1;
}

/* Others that have it listen as well.  Without memory, only they give. */
static void listener_set(int fd)
{
	share.fd[SHARE_LISTENER] = fd;
	(void)rnic_loop_watch(fd, RNIC_LOOP_UDP, RNIC_SHARE_LISTENER, EPOLLIN,
			      &share.listener_watched);
}

/* Return: 0; -EADDRINUSE: another process listens; other -errno. */
static int share_listen(void)
{
	struct sockaddr_un sun;
	socklen_t len = share_name(&sun);
	int fd = rnic_sock_open(AF_UNIX, SOCK_STREAM);
	int rc;

	if (fd < 0)
		return fd;
	if (rnic_tcp()->bind(fd, (struct sockaddr *)&sun, len) < 0 ||
	    rnic_tcp()->listen(fd, SOMAXCONN) < 0) {
		rc = -errno;
		rnic_fd_close(fd);
		return rc;
	}
	listener_set(fd);
	return 0;
}

/* ---- then ---------------------------------------------------------------- */

static void ask_close(void)
{
	if (share.ask_watched)
		(void)rnic_loop_watch(share.ask_fd, RNIC_LOOP_UDP,
				      RNIC_SHARE_ASKER, 0, &share.ask_watched);
	rnic_stranger_close(share.ask_fd);
	share.ask_fd = -1;
}

/* Return: 0; -ECONNREFUSED: nobody listens any more; -EACCES: another user's
 * process does; other -errno. */
static int share_ask(void)
{
	struct sockaddr_un sun;
	socklen_t len = share_name(&sun);
	int rc = 0;

	if (share.ask_cnt++ == SHARE_ASK_MAX)
		return -EBUSY;
	share.ask_fd = rnic_sock_open(AF_UNIX, SOCK_STREAM);
	if (share.ask_fd < 0)
		return share.ask_fd;
	if (rnic_tcp()->connect(share.ask_fd, (struct sockaddr *)&sun, len) < 0)
		rc = -errno;
	/* The kernel tells who has begun to listen. */
	else if (!peer_is_own(share.ask_fd))
		rc = -EACCES;
	if (rc == 0)
		rc = rnic_loop_watch(share.ask_fd, RNIC_LOOP_UDP,
				     RNIC_SHARE_ASKER, EPOLLIN,
				     &share.ask_watched);
	if (rc < 0)
		ask_close();
	return rc;
}

enum rnic_share rnic_share_begin(void)
{
	int rc = rnic_loop_start();

	if (rc < 0)
		return RNIC_SHARE_NONE;
	share.uid = geteuid();
	do {
		rc = share_listen();
		if (rc == 0)
			return RNIC_SHARE_FIRST;
		if (rc == -EADDRINUSE)
			rc = share_ask();
		if (rc == 0)
			return RNIC_SHARE_ASKED;
	} while (rc == -ECONNREFUSED && share.ask_cnt < SHARE_ASK_MAX);
	return RNIC_SHARE_NONE;
}

/* ---- give and take ------------------------------------------------------- */

void rnic_share_set(const int fds[RNIC_SHARE_CNT])
{
	memcpy(share.fd, fds, RNIC_SHARE_CNT * sizeof(share.fd[0]));
}

static void share_send(int fd, uint32_t which)
{
	struct share_msg out = { SHARE_MAGIC, which };

	/* What does not arrive is asked for again. */
	(void)rnic_stranger_send_fd(fd, NULL, 0, &out, sizeof(out),
				    share.fd[which]);
}

void rnic_share_give(void)
{
	int fd = -1;

	/* Of the processes that are woken one has the connection. */
	while (share.fd[SHARE_LISTENER] >= 0 &&
	       (fd = rnic_stranger_accept(share.fd[SHARE_LISTENER])) >= 0) {
		for (uint32_t i = 0; i < SHARE_FDS && peer_is_own(fd); i++)
			if (share.fd[i] >= 0)
				share_send(fd, i);
		rnic_stranger_close(fd);
	}
	/* The others give. */
	if (rnic_tcp_is_short(-fd))
		listener_close();
}

/* It comes from a process of the user. */
static int check_socket(int fd)
{
	socklen_t len = sizeof(int);
	int type;

	return rnic_tcp()->getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0
		       ? -errno
		       : 0;
}

/* Of what was asked for all has to come. */
static void taken_close(void)
{
	for (int i = 0; i < RNIC_SHARE_CNT; i++) {
		rnic_fd_close(share.fd[i]);
		share.fd[i] = -1;
	}
}

/* Return: 0: one more; -EAGAIN; -EPIPE. */
static int take_one(void)
{
	struct share_msg msg;
	int fd = rnic_stranger_recv_fd(share.ask_fd, &msg, sizeof(msg),
				       check_socket, NULL);

	if (fd == -EAGAIN)
		return -EAGAIN;
	fd = fd < 0 ? fd : rnic_fd_own(fd);
	if (fd < 0)
		return -EPIPE;
	if (msg.magic != SHARE_MAGIC || msg.which >= SHARE_FDS ||
	    share.fd[msg.which] >= 0) {
		rnic_fd_close(fd);
		return -EPIPE;
	}
	if (msg.which == SHARE_LISTENER)
		listener_set(fd);
	else
		share.fd[msg.which] = fd;
	return 0;
}

int rnic_share_take(int ret_fds[RNIC_SHARE_CNT])
{
	int rc = share.ask_fd < 0 ? -EAGAIN : 0;

	while (rc == 0 && share.fd[SHARE_LISTENER] < 0)
		rc = take_one();
	if (rc == -EAGAIN)
		return rc;
	ask_close();
	if (rc < 0) {
		taken_close();
		return rc;
	}
	memcpy(ret_fds, share.fd, RNIC_SHARE_CNT * sizeof(ret_fds[0]));
	return 0;
}

void rnic_share_end(void)
{
	/* Those that wait here would begin anew. */
	rnic_share_give();
	if (share.ask_fd >= 0)
		taken_close();
	ask_close();
	listener_close();
	rnic_share_fork_child();
}

void rnic_share_fork_child(void)
{
	for (int i = 0; i < SHARE_FDS; i++)
		share.fd[i] = -1;
	share.ask_fd = -1;
	share.listener_watched = share.ask_watched = 0;
	share.ask_cnt = 0;
}
