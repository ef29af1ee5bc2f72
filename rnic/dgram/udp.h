/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The UDP sockets: RoCEv2 packets to and from other hosts.
 *
 * They exist while the process has UD QPs or somebody else keeps them open.
 * One engine with UD QPs reads them, so that a poll of the application does;
 * without any, the loop does.
 *
 * All processes of a user read the same sockets (share.h), and each has its own
 * to send by.  Who reads a packet hands it to its QP, which may be another
 * process's (host.h).  If that process is full, the packet waits, with those
 * that were read with it (full.h).
 *
 * Where the port cannot be had, for example because rdma_rxe is loaded, nothing
 * comes from other hosts, and everything else works.
 */
#ifndef RNIC_UDP_H
#define RNIC_UDP_H

struct rnic_engine;
struct rnic_engines;

/*
 * The sockets are open until rnic_udp_put().  Takes the loop's lock and leads.
 * @engine: of the UD QP that they are for.
 * Return: 0; -errno: there is no socket.
 */
int rnic_udp_get(struct rnic_engine *engine);
void rnic_udp_put(struct rnic_engine *engine);

/* The same without a QP.  Under the loop's lock; takes leads. */
int rnic_udp_open(void);
void rnic_udp_close(void);

/* A context ends with UD QPs in it; its engines have stopped.  Takes the loop's
 * lock. */
void rnic_udp_forget(struct rnic_engines *engines);

/* The loop: something is to be read.  @which: as it was watched. */
void rnic_udp_ready(unsigned int which);

/* In a forked child: there are none. */
void rnic_udp_fork_child(void);

#endif
