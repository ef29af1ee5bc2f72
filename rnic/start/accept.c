/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Connections that TCP has made: taken in, and bounded until their Request. */
#define _GNU_SOURCE /* accept4 */
#include "accept.h"

#include <errno.h>
#include <sys/socket.h>

#include "../../util/env.h"
#include "os/fd.h"
#include "os/stat.h"
#include "os/tcp.h"
#include "start.h"

/* Connections taken per wake-up, so that others have their turn. */
#define ACCEPT_BATCH 64
#define ACCEPT_PAUSE_NS (100 * NS_PER_MS)

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

int rnic_acceptor_take(struct rnic_acceptor *acceptor, int listener)
{
	for (int i = 0; i < ACCEPT_BATCH; i++) {
		int fd = rnic_tcp()->accept4(listener, NULL, NULL,
					     SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			accept_one(acceptor, fd);
		} else if (errno == EAGAIN) {
			return 0;
		} else if (rnic_tcp_is_short(errno)) {
			if (!acceptor->half_open_cnt)
				return -errno;
			half_open_drop(acceptor);
		} /* else one that ended in TCP's queue */
	}
	return 1;
}
