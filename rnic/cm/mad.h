/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Management datagrams of connection management.  Between processes of this
 * host they go from one AF_UNIX name to the other, else to QP 1 of the peer, by
 * UDP.  All calls are made with the manager locked.
 */
#ifndef RNIC_CM_MAD_H
#define RNIC_CM_MAD_H

#include "object.h"

/* One that was received. */
struct cm_mad {
	struct sib_path path; /* src: who has sent it */
	uint8_t octets[SIB_MAD_SIZE];
};

/*
 * The process sends and gets some from here on: it has the UDP port, and a name
 * for answers.  @is_held: the caller's; both calls do nothing the second time.
 * Return: 0; -errno.
 */
int cm_mads_hold(bool *is_held);
void cm_mads_release(bool *is_held);

/* A new transaction ID.  Answers come to this process. */
uint64_t cm_mads_tid(void);

/*
 * @name: of the process, if it is on this host.
 * Return: 0; -EAGAIN: its socket is full; -ECONNREFUSED: nobody there has that
 * name; other -errno: it is lost.
 */
int cm_mad_send(const struct cm_way *way, const struct rnic_host_name *name,
		uint8_t mad[SIB_MAD_SIZE]);

/* Return: 0; -EBADMSG: it is no MAD, and counted; -EAGAIN: there is none, or a
 * stranger's descriptors are in the way and will be dropped; other -errno. */
int cm_mad_recv(struct cm_mad_sock *sock, struct cm_mad *ret_mad);

/* The loop waits for what comes.  Return: 0; -errno. */
int cm_mad_sock_watch(struct cm_mad_sock *sock, enum rnic_loop_tag tag,
		      uint64_t ref);
void cm_mad_sock_unwatch(struct cm_mad_sock *sock);
/* RNIC_TIMER_CM_MAD: it is looked at again. */
void cm_mad_sock_resume(struct rnic_timer *pause);

#endif
