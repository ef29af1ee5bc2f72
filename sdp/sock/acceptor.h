/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The twin of a listener where rdma_cm makes connections: it listens, and a
 * thread answers peers, so that a connect() over there does not wait for the
 * program here.  What stands by then waits to be accepted.
 */
#ifndef SDP_SOCK_ACCEPTOR_H
#define SDP_SOCK_ACCEPTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "table.h"

struct sdp_acceptor;
struct sdp_link;

/*
 * Listens on a port that rdma_cm chooses, with the address of @name;
 * @is_dual: for IPv4 as well.
 * *ret_fd: the acceptor's, readable while a connection waits: a pipe, which is
 * never writable, as a listener is not.
 * Return: 0; -errno.
 */
int sdp_acceptor_new(struct sdp_acceptor **ret_acceptor,
		     const union sdp_addr *name, bool is_dual, int backlog,
		     uint16_t *ret_port, int *ret_fd);

void sdp_acceptor_set_backlog(struct sdp_acceptor *acceptor, int backlog);

/* The connection that waits longest.  Return: NULL: none. */
struct sdp_link *sdp_acceptor_take(struct sdp_acceptor *acceptor);

/* It could not be accepted now: it is the first again. */
void sdp_acceptor_put_back(struct sdp_acceptor *acceptor,
			   struct sdp_link *link);

/* Listens no more; those that wait can still be taken. */
void sdp_acceptor_stop(struct sdp_acceptor *acceptor);

/* Those that wait are reset. */
void sdp_acceptor_free(struct sdp_acceptor *acceptor);

/* In a forked child, in place of sdp_acceptor_free(): all is the parent's. */
void sdp_acceptor_forget(struct sdp_acceptor *acceptor);

#endif
