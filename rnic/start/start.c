/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A connection in the making: its socket, the start exchange, the QP. */
#include "start.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "loop/loop.h"
#include "os/fd.h"
#include "stream/attach.h"

struct rnic_ref_table rnic_starts;

void rnic_starts_fork_child(void)
{
	memset(&rnic_starts, 0, sizeof(rnic_starts));
}

void *rnic_start_new(size_t size, enum rnic_loop_tag tag)
{
	struct rnic_start *start = calloc(1, size);

	if (!start)
		return NULL;
	if (rnic_ref_add(&rnic_starts, start, &start->ref) < 0) {
		free(start);
		return NULL;
	}
	start->tag = tag;
	start->fd = -1;
	return start;
}

void rnic_half_open_add(struct rnic_acceptor *acceptor,
			struct rnic_start *start)
{
	if (!acceptor->half_open_cnt)
		TAILQ_INIT(&acceptor->half_open);
	start->acceptor = acceptor;
	TAILQ_INSERT_TAIL(&acceptor->half_open, start, half_open_link);
	acceptor->half_open_cnt++;
}

void rnic_half_open_remove(struct rnic_start *start)
{
	if (!start->acceptor)
		return;
	TAILQ_REMOVE(&start->acceptor->half_open, start, half_open_link);
	start->acceptor->half_open_cnt--;
	start->acceptor = NULL;
}

void rnic_start_free(struct rnic_start *start)
{
	rnic_timer_stop(&start->timer);
	rnic_half_open_remove(start);
	rnic_start_close(start);
	rnic_ref_remove(&rnic_starts, start->ref);
	free(start);
}

/* ---- the socket ---------------------------------------------------------- */

int rnic_start_fd(const struct rnic_start *start)
{
	return start->stream ? start->stream->source.fd : start->fd;
}

int rnic_start_watch(struct rnic_start *start, uint32_t events)
{
	return rnic_loop_watch(rnic_start_fd(start), start->tag, start->ref,
			       events, &start->epoll_events);
}

/* Unregistered by hand: a forked child may hold the socket open. */
void rnic_start_close(struct rnic_start *start)
{
	(void)rnic_start_watch(start, 0);
	start->epoll_events = 0;
	if (start->stream)
		rnic_stream_free(start->stream);
	else
		rnic_fd_close(start->fd);
	start->stream = NULL;
	start->fd = -1;
}

/* ---- the exchange -------------------------------------------------------- */

int rnic_start_open(struct rnic_start *start, const struct smpa_options *opt,
		    const void *pd, size_t pd_len)
{
	int ret = rnic_stream_new(start->fd, opt, &start->stream);

	if (ret < 0)
		return ret;
	start->fd = -1; /* the stream's now */
	return smpa_conn_start(start->stream->conn, pd, pd_len);
}

int rnic_start_step(struct rnic_start *start, struct smpa_event *ret_ev)
{
	int ret = rnic_stream_start_step(start->stream, ret_ev);

	if (ret <= 0)
		return ret == -EPIPE ? -ECONNRESET : ret;
	switch (ret_ev->type) {
	case SMPA_EV_ESTABLISHED:
		start->ird = ret_ev->start.ird;
		start->ord = ret_ev->start.ord;
		return 1;
	case SMPA_EV_REQUEST:
	case SMPA_EV_REJECTED:
		return 1;
	case SMPA_EV_FAULT:
		if (ret_ev->fault.fault.value != SMPA_F_MPA_CLOSED)
			return 1;
		return -ECONNRESET;
	case SMPA_EV_CLOSED:
		return -ECONNRESET;
	default:
		return -EPROTO; /* never before ESTABLISHED */
	}
}

int rnic_start_established(struct rnic_start *start, struct smpa_event *ret_ev)
{
	int ret = rnic_start_step(start, ret_ev);

	if (ret < 0)
		return ret;
	return ret == 1 && ret_ev->type == SMPA_EV_ESTABLISHED ? 0 : -EPROTO;
}

int rnic_start_attach(struct rnic_start *start, struct rnic_qp *qp,
		      uint64_t ref)
{
	int ret;

	(void)rnic_start_watch(start, 0);
	ret = rnic_qp_attach_stream(qp, start->stream, start->ird, start->ord,
				    ref);
	if (ret == 0)
		start->stream = NULL;
	return ret;
}
