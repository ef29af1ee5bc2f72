/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* AF_UNIX sockets whose other end is not trusted. */
#define _GNU_SOURCE /* MSG_CMSG_CLOEXEC, accept4, struct ucred */
#include "stranger.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cancel.h"
#include "util/fd-high.h"
#include "util/lock.h"
#include "util/log.h"
#include "util/thread.h"
#include "fd.h"
#include "tcp.h"

/* Not in every libc.  The systems with other numbers have another
 * SO_PEEK_OFF, too. */
#if !defined(SO_PASSRIGHTS) && SO_PEEK_OFF == 42
#define SO_PASSRIGHTS 83
#elif !defined(SO_PASSRIGHTS)
#define SO_PASSRIGHTS (-1)
#endif

/* Threads that close at once.  What is more than they can do stays open. */
#define CLOSERS_MAX 16u
/* Octets of a queue that are looked at together. */
#define STRANGER_PIECE 4096u

static _Atomic uint32_t closer_cnt;

static void *close_thread(void *arg)
{
	rnic_fd_close((int)(intptr_t)arg);
	atomic_fetch_sub_explicit(&closer_cnt, 1, memory_order_relaxed);
	return NULL;
}

/* Return: whether a thread has @fd. */
static bool run_apart(void *(*run)(void *arg), int fd)
{
	/* relaxed: only the number counts */
	if (atomic_fetch_add_explicit(&closer_cnt, 1, memory_order_relaxed) <
		    CLOSERS_MAX &&
	    util_thread_run(run, (void *)(intptr_t)fd, UTIL_THREAD_STACK) == 0)
		return true;
	atomic_fetch_sub_explicit(&closer_cnt, 1, memory_order_relaxed);
	return false;
}

/* Nothing is known about the file. */
static void close_apart(int fd)
{
	if (!run_apart(close_thread, fd))
		util_warn("rnic",
			  "a process of this host passes descriptors that "
			  "cannot be closed; one of them stays open");
}

static void control_read(struct msghdr *msg, int *ret_fd,
			 struct rnic_stranger *ret_from)
{
	struct cmsghdr *cmsg;
	struct ucred cred;

	for (cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET)
			continue;
		if (ret_fd && cmsg->cmsg_type == SCM_RIGHTS &&
		    cmsg->cmsg_len == CMSG_LEN(sizeof(int)))
			memcpy(ret_fd, CMSG_DATA(cmsg), sizeof(int));
		if (ret_from && cmsg->cmsg_type == SCM_CREDENTIALS &&
		    cmsg->cmsg_len == CMSG_LEN(sizeof(cred))) {
			memcpy(&cred, CMSG_DATA(cmsg), sizeof(cred));
			ret_from->uid = cred.uid;
		}
	}
}

/*
 * Looks at what is next.  @ret_fd: NULL, or for a descriptor, which is the
 * caller's; -1: none.  @ret_from: NULL: the socket has no SO_PASSCRED.
 * Return: octets; -EPROTO: more descriptors than that; other -errno.
 */
static ssize_t stranger_peek(int fd, void *mem, size_t len, int *ret_fd,
			     struct rnic_stranger *ret_from)
{
	union {
		struct cmsghdr hdr;
		uint8_t room[CMSG_SPACE(sizeof(struct ucred)) +
			     CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { mem, len };
	/* Room for one, to the octet: the kernel makes no more. */
	size_t room = (ret_from ? CMSG_SPACE(sizeof(struct ucred)) : 0) +
		      (ret_fd ? CMSG_LEN(sizeof(int)) : 0);
	struct msghdr msg = {
		.msg_name = ret_from ? &ret_from->name : NULL,
		.msg_namelen = ret_from ? sizeof(ret_from->name) : 0,
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = room ? &control : NULL,
		.msg_controllen = room,
	};
	ssize_t got;

	if (ret_from)
		ret_from->uid = (uid_t)-1;
	got = rnic_tcp()->recvmsg(fd, &msg,
				  MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (got < 0)
		return -errno;
	control_read(&msg, ret_fd, ret_from);
	if (ret_from)
		ret_from->name_len = msg.msg_namelen;
	return msg.msg_flags & MSG_CTRUNC ? -EPROTO : got;
}

ssize_t rnic_stranger_recv_octets(int fd, void *mem, size_t len)
{
	ssize_t got =
		syscall(SYS_recvfrom, fd, mem, len, MSG_DONTWAIT, NULL, NULL);

	return got < 0 ? -errno : got;
}

ssize_t rnic_stranger_recv(int fd, void *mem, size_t len,
			   struct rnic_stranger *ret_from)
{
	ssize_t got = stranger_peek(fd, mem, len, NULL, ret_from);

	/* Nobody else takes from this queue.  A datagram may have no octets. */
	return got < 0 ? got : rnic_stranger_recv_octets(fd, mem, (size_t)got);
}

bool rnic_stranger_refuse_fds(int fd)
{
	int off = 0;
	uint8_t octet;

	/* Octets there may hide descriptors behind them. */
	return rnic_tcp()->setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &off,
				      sizeof(off)) == 0 &&
	       stranger_peek(fd, &octet, sizeof(octet), NULL, NULL) == -EAGAIN;
}

int rnic_stranger_recv_fd(int fd, void *mem, size_t len, int (*check)(int fd),
			  struct rnic_stranger *ret_from)
{
	int passed = -1;
	ssize_t got = stranger_peek(fd, mem, len, &passed, ret_from);
	bool is_known = passed >= 0 && check(passed) == 0;

	if (got == (ssize_t)len && is_known &&
	    rnic_stranger_recv_octets(fd, mem, len) == (ssize_t)len)
		return passed;
	if (is_known)
		util_sys_close(passed);
	else if (passed >= 0)
		close_apart(passed);
	return got < 0 ? (int)got : -EPROTO;
}

/* Sockets from which a thread drops a message now, by inode; 0: none. */
static struct {
	struct util_lock lock;
	ino_t ino[CLOSERS_MAX];
} drops = { .lock = UTIL_LOCK_INIT(UTIL_RANK_LEAF) };

static ino_t fd_ino(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? 0 : st.st_ino;
}

/* Makes an entry @old @new.  Return: whether there was one. */
static bool drops_change(ino_t old, ino_t new)
{
	for (uint32_t i = 0; i < CLOSERS_MAX; i++) {
		if (drops.ino[i] != old)
			continue;
		drops.ino[i] = new;
		return true;
	}
	return false;
}

/* Return: false: a thread is at it, or there are too many. */
static bool drop_begin(ino_t ino)
{
	UTIL_LOCKED(&drops.lock);

	return ino && !drops_change(ino, ino) && drops_change(0, ino);
}

static void drop_end(ino_t ino)
{
	UTIL_LOCKED(&drops.lock);

	(void)drops_change(ino, 0);
}

/*
 * The kernel closes the descriptors when this thread takes them. A second
 * thread would look at the same message, and take the one behind it.
 */
static void *drop_thread(void *arg)
{
	int fd = (int)(intptr_t)arg;
	ino_t ino = fd_ino(fd);
	struct rnic_stranger from;
	uint8_t octet;

	/* The last one may have taken it. */
	if (stranger_peek(fd, &octet, sizeof(octet), NULL, &from) == -EPROTO)
		(void)rnic_stranger_recv_octets(fd, &octet, sizeof(octet));
	drop_end(ino);
	return close_thread(arg);
}

void rnic_stranger_drop(int fd)
{
	ino_t ino = fd_ino(fd);
	int dup_fd;

	if (!drop_begin(ino))
		return;
	/* The caller may close its own one. */
	dup_fd = rnic_fd_own(util_fd_high_dup(fd, NULL));
	if (dup_fd >= 0 && run_apart(drop_thread, dup_fd))
		return;
	drop_end(ino);
	if (dup_fd >= 0)
		rnic_fd_close(dup_fd);
}

void rnic_stranger_fork_child(void)
{
	util_lock_init(&drops.lock, UTIL_RANK_LEAF);
	memset(drops.ino, 0, sizeof(drops.ino));
	atomic_store_explicit(&closer_cnt, 0, memory_order_relaxed);
}

int rnic_stranger_send_fd(int fd, const struct sockaddr_un *to,
			  socklen_t to_len, const void *mem, size_t len,
			  int passed)
{
	union {
		struct cmsghdr hdr;
		uint8_t room[CMSG_SPACE(sizeof(int))];
	} control = { .hdr = { .cmsg_level = SOL_SOCKET,
			       .cmsg_type = SCM_RIGHTS,
			       .cmsg_len = CMSG_LEN(sizeof(int)) } };
	struct iovec iov = { (void *)(uintptr_t)mem, len };
	const struct msghdr msg = {
		.msg_name = (void *)(uintptr_t)to,
		.msg_namelen = to_len,
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = passed < 0 ? NULL : &control,
		.msg_controllen = passed < 0 ? 0 : sizeof(control),
	};
	ssize_t sent;

	if (passed >= 0)
		memcpy(CMSG_DATA(&control.hdr), &passed, sizeof(passed));
	sent = rnic_tcp()->sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sent < 0)
		return -errno;
	return sent == (ssize_t)len ? 0 : -EIO;
}

static bool socket_is_datagrams(int fd)
{
	socklen_t len = sizeof(int);
	int type = 0;

	return rnic_tcp()->getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) ==
		       0 &&
	       type == SOCK_DGRAM;
}

/* Return: whether descriptors are left in the queue. */
static bool queue_has_descriptors(int fd)
{
	uint8_t octets[STRANGER_PIECE];
	bool is_datagrams = socket_is_datagrams(fd);
	const int off = 0;
	ssize_t got;

	/* Nothing joins the queue behind this. */
	rnic_tcp()->shutdown(fd, SHUT_RD);
	(void)rnic_tcp()->setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &off,
				     sizeof(off));
	do
		got = rnic_stranger_recv(fd, octets, sizeof(octets), NULL);
	while (got > 0 || (got == 0 && is_datagrams));
	return got == -EPROTO;
}

void rnic_stranger_close(int fd)
{
	if (fd < 0)
		return;
	if (queue_has_descriptors(fd))
		close_apart(fd);
	else
		rnic_fd_close(fd);
}

void rnic_stranger_close_shared(int fd)
{
	struct rnic_stranger from;
	uint8_t octet;

	if (fd < 0)
		return;
	/* What is in the queue is for the others, if they have not ended. */
	if (stranger_peek(fd, &octet, sizeof(octet), NULL, &from) == -EAGAIN ||
	    !run_apart(close_thread, fd))
		rnic_fd_close(fd);
}

static int connection_take(int listen_fd)
{
	return rnic_tcp()->accept4(listen_fd, NULL, NULL,
				   SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int rnic_stranger_accept(int listen_fd)
{
	int fd = rnic_fd_own(connection_take(listen_fd));

	if (fd < 0 || rnic_fd_is_spare(fd))
		return fd;
	rnic_stranger_close(fd);
	return -EMFILE;
}

void rnic_stranger_close_listener(int fd)
{
	int waiting;

	if (fd < 0)
		return;
	/* Nobody connects behind this. */
	rnic_tcp()->shutdown(fd, SHUT_RD);
	while ((waiting = connection_take(fd)) >= 0)
		rnic_stranger_close(waiting);
	if (rnic_tcp_is_short(errno))
		close_apart(fd); /* some may be left */
	else
		rnic_fd_close(fd);
}
