/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Queue pairs: made, reset, freed; what their connections negotiate. */
#ifndef RNIC_QP_H
#define RNIC_QP_H

#include "object.h"

/* rnic_qp_create(), for a type of QP that has this transport. */
int rnic_qp_new(struct rnic_pd *pd, struct rnic_qp_options *opt,
		const struct rnic_transport *transport,
		struct rnic_qp **ret_qp);

/* What a QP that has left (rnic_qp_leave()) is made of: its number may be drawn
 * again.  Return: asynchronous events that were reported. */
uint32_t rnic_qp_free(struct rnic_qp *qp);

/* IDLE -> CONNECTING, to @dest_num at @peer.  Takes the lead.  Return: false:
 * not IDLE. */
bool rnic_qp_connecting(struct rnic_qp *qp, uint32_t dest_num,
			const struct sockaddr_storage *local,
			const struct sockaddr_storage *peer);
/* And back. */
void rnic_qp_not_connecting(struct rnic_qp *qp);

/*
 * The queues of an IDLE or CONNECTING QP begin a connection with these depths.
 * Under the lead.  Return: 0; -EINVAL: another state; -ENOMEM.
 */
int rnic_qp_prepare(struct rnic_qp *qp, uint16_t ird, uint16_t ord);

/* RTR -> RTS, as the application sees it: at most opt->ord own READs at a time;
 * nothing is posted yet.  Takes the lead. */
void rnic_qp_may_send(struct rnic_qp *qp,
		      const struct rnic_oob_send_options *opt);

/* To IDLE; what is still in the queues is dropped.  Under the lead.  Return: 0;
 * -EINVAL: it has a link. */
int rnic_qp_reset(struct rnic_qp *qp);

/* Another number after each reset; never 0. */
uint32_t rnic_qp_life(const struct rnic_qp *qp);

/* @timeout: what rnic_qp_query() answers. @retry_ns: the time for a peer that
 * is silent; 0: TCP's own. */
void rnic_qp_set_timeout(struct rnic_qp *qp, uint8_t timeout,
			 uint64_t retry_ns);

#endif
