/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A connection that is being set up: its socket, the start exchange, the QP. */
#ifndef RNIC_START_H
#define RNIC_START_H

#include "object.h"
#include "stream/start.h"

struct rnic_qp;

/* All of them, by reference; the loop's lock. */
extern struct rnic_ref_table rnic_starts;
void rnic_starts_fork_child(void);

/* An object of this size, which begins with a struct rnic_start. NULL: out of
 * memory. Locked. */
void *rnic_start_new(size_t size, enum rnic_loop_tag tag);
/* Closes socket and stream, if there are any. Locked. */
void rnic_start_free(struct rnic_start *start);

/* It is half open until the other call; that may come for any.  Locked. */
void rnic_half_open_add(struct rnic_acceptor *acceptor,
			struct rnic_start *start);
void rnic_half_open_remove(struct rnic_start *start);

/* -1: there is none. */
int rnic_start_fd(const struct rnic_start *start);
/* The loop waits for @events; 0: for none. Return: 0; -ENOMEM, -ENOSPC. Locked,
 * unless the loop waits for nothing before and after. */
int rnic_start_watch(struct rnic_start *start, uint32_t events);
/* Closes socket and stream. Locked, as rnic_start_watch(). */
void rnic_start_close(struct rnic_start *start);

/*
 * The socket becomes a stream, and the start exchange begins.
 * @pd: Initiator: the Request's Private Data.  Return: 0; -errno.
 */
int rnic_start_open(struct rnic_start *start, const struct smpa_options *opt,
		    const void *pd, size_t pd_len);
/*
 * Return: 1: REQUEST, ESTABLISHED, REJECTED or FAULT; 0: nothing yet;
 *   -ECONNRESET: the peer has closed, in any way; -errno.
 */
int rnic_start_step(struct rnic_start *start, struct smpa_event *ret_ev);
/* For a Responder that has accepted. Return: 0: ESTABLISHED; -errno. */
int rnic_start_established(struct rnic_start *start, struct smpa_event *ret_ev);
/* The QP takes the stream; @ref: as for rnic_qp_attach_stream(). Return: 0;
 * -errno: it still belongs to
 * @start. */
int rnic_start_attach(struct rnic_start *start, struct rnic_qp *qp,
		      uint64_t ref);

#endif
