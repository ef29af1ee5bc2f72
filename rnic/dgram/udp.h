/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The UDP sockets of a context: RoCEv2 packets to and from other hosts.
 *
 * They exist while the context has UD QPs.  The processes of one user share the
 * port by SO_REUSEPORT: the kernel gives all packets to the first one, and that
 * role to the next when it ends.  Who gets a packet hands it to its QP, which
 * may be another process's (host.h).
 *
 * Where the port cannot be had, for example because rdma_rxe is loaded, nothing
 * comes from other hosts, and everything else works.
 */
#ifndef RNIC_UDP_H
#define RNIC_UDP_H

#include "libsiw-ib/include/siw-ib.h"
#include "engine/object.h"
#include "host.h"

enum { RNIC_UDP_IPV4, RNIC_UDP_IPV6, RNIC_UDP_CNT };

struct rnic_udp_sock {
	struct rnic_source source; /* fd: -1: there is none */
	struct rnic_udp *udp;
	bool is_added; /* to the engine; under its lead */
	uint32_t lost; /* that the socket has dropped, as last seen */
};

struct rnic_udp {
	struct rnic_context *ctx;
	struct util_lock lock;	    /* rank DEVICE: user_cnt, life */
	uint32_t user_cnt;	    /* UD QPs */
	struct rnic_engine *engine; /* that serves the sockets */
	struct rnic_udp_sock sock[RNIC_UDP_CNT];
	int host_fd; /* to hand packets on; -1 */
	uint8_t *buf;
};

/* All else is zero before. */
void rnic_udp_init(struct rnic_udp *udp, struct rnic_context *ctx);

/*
 * One more user: the first one opens the sockets.  Takes leads.
 * @engine: of the user.
 * Return: 0; -errno: there is no socket.
 */
int rnic_udp_get(struct rnic_udp *udp, struct rnic_engine *engine);
void rnic_udp_put(struct rnic_udp *udp);

/* The context ends with users; the engines have stopped. */
void rnic_udp_fini(struct rnic_udp *udp);

/*
 * Sends a packet.  @iov: header, then payload, with a place for one more behind
 * its @cnt.  Under the lead of any engine of the context.
 * Return: 0; -EAGAIN: the socket is full; -EFAULT: the payload cannot be read;
 * other -errno: it is lost.
 */
int rnic_udp_send(struct rnic_udp *udp, const struct sib_path *path,
		  struct iovec *iov, int cnt);

#endif
