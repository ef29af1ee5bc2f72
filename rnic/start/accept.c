/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connections that TCP has made: taken in, and bounded until their Request. */
#define _GNU_SOURCE /* accept4 */
#include "accept.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "util/env.h"
#include "os/fd.h"
#include "os/stat.h"
#include "os/tcp.h"
#include "start.h"

/* Connections taken per wake-up, so that others have their turn. */
#define ACCEPT_BATCH 64
#define ACCEPT_PAUSE_NS (100 * NS_PER_MS)

/* ---- a descriptor for refusals ------------------------------------------- */

/* The loop's lock. A forked child has closed it. */
static struct {
	int fd;
	uint32_t fork_gen;
	bool is_there;
} spare;

void rnic_acceptor_reserve(void)
{
	if (spare.is_there && spare.fork_gen == rnic_fork_gen())
		return;
	spare.fd = eventfd(0, EFD_CLOEXEC);
	if (spare.fd >= 0)
		spare.fd = rnic_fd_own(spare.fd);
	spare.fork_gen = rnic_fork_gen();
	spare.is_there = spare.fd >= 0;
}

static int accept_next(int listener)
{
	return rnic_tcp()->accept4(listener, NULL, NULL,
				   SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/* ---- connections --------------------------------------------------------- */

void rnic_acceptor_fork_child(struct rnic_acceptor *acceptor)
{
	acceptor->half_open_cnt = 0;
	acceptor->pause.list = RNIC_TIMER_NONE;
}

void rnic_acceptor_pause(struct rnic_acceptor *acceptor)
{
	rnic_timer_start(&acceptor->pause, acceptor->pause_list,
			 ACCEPT_PAUSE_NS);
}

static void half_open_drop(struct rnic_acceptor *acceptor)
{
	rnic_stat_add(RNIC_STAT_half_open_refused, 1);
	rnic_start_free(TAILQ_FIRST(&acceptor->half_open));
}

/* The newest is kept: a peer makes its Request at once, and the oldest have had
 * their time. */
static void accept_one(struct rnic_acceptor *acceptor, int fd)
{
	uint32_t max = rnic_fd_share(util_settings()->half_open_max);

	while (acceptor->half_open_cnt >= max)
		half_open_drop(acceptor);
	fd = rnic_fd_own(fd);
	if (fd >= 0)
		acceptor->take(acceptor, fd);
}

/*
 * There is no descriptor, which accept4() says before it looks whether a peer
 * waits.  One that does takes the place of the oldest half-open one; if there
 * is none it is refused, or it would wait for its Reply for a minute.  Return:
 * 1: go on; 0: none waits; -errno.
 */
static int accept_short(struct rnic_acceptor *acceptor, int listener, int err)
{
	int fd;

	if (!spare.is_there || spare.fork_gen != rnic_fork_gen()) {
		if (!acceptor->half_open_cnt)
			return -err;
		half_open_drop(acceptor);
		return 1;
	}
	rnic_fd_close(spare.fd);
	spare.is_there = false;
	fd = accept_next(listener);
	err = errno;
	if (fd >= 0 && acceptor->half_open_cnt) {
		half_open_drop(acceptor);
		accept_one(acceptor, fd);
	} else if (fd >= 0) {
		rnic_fd_close(fd);
		rnic_stat_add(RNIC_STAT_half_open_refused, 1);
	}
	rnic_acceptor_reserve();
	if (fd < 0 && rnic_tcp_is_short(err) && acceptor->half_open_cnt) {
		/* The limit was lowered: our number does not help. */
		half_open_drop(acceptor);
		return 1;
	}
	if (fd >= 0)
		return 1;
	return err == EAGAIN ? 0 : -err;
}

int rnic_acceptor_take(struct rnic_acceptor *acceptor, int listener)
{
	int ret;

	for (int i = 0; i < ACCEPT_BATCH; i++) {
		int fd = accept_next(listener);

		if (fd >= 0) {
			accept_one(acceptor, fd);
		} else if (errno == EAGAIN) {
			return 0;
		} else if (rnic_tcp_is_short(errno)) {
			ret = accept_short(acceptor, listener, errno);
			if (ret <= 0)
				return ret;
		} /* else one that ended in TCP's queue */
	}
	return 1;
}
