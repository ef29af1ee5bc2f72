/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The twin of a listener where rdma_cm makes connections. It listens, and a
 * thread answers peers, so a connect() on the peer does not wait for accept()
 * here. Established connections wait until the program accepts them.
 */
#ifndef SDP_SOCK_ACCEPTOR_H
#define SDP_SOCK_ACCEPTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "sock/base/table.h"

struct sdp_acceptor;
struct sdp_link;

/*
 * Listens on a port that rdma_cm chooses, with the address of @name; @is_dual:
 * also for IPv4. *ret_fd: a pipe of the acceptor. It is readable while a
 * connection waits, and never writable, like a listener.
 * Return: 0; -errno.
 */
int sdp_acceptor_new(struct sdp_acceptor **ret_acceptor,
		     const union sdp_addr *name, bool is_dual, int backlog,
		     uint16_t *ret_port, int *ret_fd);

void sdp_acceptor_set_backlog(struct sdp_acceptor *acceptor, int backlog);

/* The connection that has waited longest. Return: NULL: none. */
struct sdp_link *sdp_acceptor_take(struct sdp_acceptor *acceptor);

/* The link could not be accepted now: puts it back in front. */
void sdp_acceptor_put_back(struct sdp_acceptor *acceptor,
			   struct sdp_link *link);

/* Stops listening. Waiting connections can still be taken. */
void sdp_acceptor_stop(struct sdp_acceptor *acceptor);

/* Resets waiting connections. */
void sdp_acceptor_free(struct sdp_acceptor *acceptor);

/* In a forked child, instead of sdp_acceptor_free(): everything belongs to the
 * parent. */
void sdp_acceptor_forget(struct sdp_acceptor *acceptor);

#endif
