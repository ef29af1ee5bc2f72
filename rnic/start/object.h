/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A connection that is being set up: a TCP connection, then a stream with its
 * MPA start exchange, until a QP takes it. It is the first part of an object of
 * cm/ or oob/, which decides what happens next.
 */
#ifndef RNIC_START_OBJECT_H
#define RNIC_START_OBJECT_H

#include <sys/socket.h>

#include "loop/ref.h"
#include "loop/timer.h"

struct rnic_acceptor;
struct rnic_stream;

struct rnic_start {
	enum rnic_loop_tag tag; /* the kind of its owner */
	uint64_t ref;		/* in rnic_starts */
	int fd;			/* -1: none, or the stream's */
	struct rnic_stream *stream;
	struct sockaddr_storage local, peer; /* AF_UNSPEC: not connected */
	uint16_t ird, ord;		     /* agreed */
	uint32_t epoll_events;		/* as registered; 0: not registered */
	struct rnic_timer timer;	/* the time limit of its phase */
	struct rnic_acceptor *acceptor; /* half open; NULL: it is not */
	TAILQ_ENTRY(rnic_start) half_open_link;
};

/* Accepts at one listening socket or several. */
struct rnic_acceptor {
	/* A connection has arrived. The socket belongs to the callee. */
	void (*take)(struct rnic_acceptor *acceptor, int fd);
	enum rnic_timer_list pause_list;
	struct rnic_timer pause; /* running: out of file descriptors */
	/* Accepted, without a Request yet; by age. */
	TAILQ_HEAD(, rnic_start) half_open;
	uint32_t half_open_cnt;
};

static inline bool rnic_start_is_connected(const struct rnic_start *start)
{
	return start->peer.ss_family != AF_UNSPEC;
}

#endif
