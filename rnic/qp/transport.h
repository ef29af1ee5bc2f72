/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What takes a QP's messages to its peer: a table of functions, one for each
 * type of QP.  That of RC is in stream/transport.c.
 *
 * While a QP is connected it has a link: an object of its transport, which owns
 * it, and makes and frees it.  The QP only holds the pointer.  All calls are
 * under the lead of its engine; none waits.
 */
#ifndef RNIC_TRANSPORT_H
#define RNIC_TRANSPORT_H

#include "object.h"

struct rnic_transport {
	enum rnic_qp_type type;
	/*
	 * Messages may be lost.  A message of the peer that cannot be taken is
	 * dropped, not refused; WRs complete when the link has them, or without
	 * one.  There are no answers: neither READs nor atomics.
	 */
	bool is_lossy;

	/* ---- messages; the QP has a link ---- */

	/* As smpa_conn_submit(), smpa_conn_sink(), smpa_conn_placed(),
	 * smpa_conn_open_segment(), smpa_conn_uses(): the messages and events
	 * are those of the protocol library, whatever carries them. */
	int (*submit)(struct rnic_qp *qp, const struct smpa_msg *msg);
	int (*sink)(struct rnic_qp *qp, const struct iovec *iov, int cnt);
	int (*placed)(struct rnic_qp *qp, struct smpa_event *ret_ev);
	bool (*open_segment)(const struct rnic_qp *qp,
			     struct smpa_event *ret_ev);
	bool (*uses)(const struct rnic_qp *qp, const void *addr, size_t len);
	/* The peer's message cannot be served: the one that is pending (@ev
	 * NULL), or one that was taken. */
	void (*refuse)(struct rnic_qp *qp, const struct smpa_event *ev,
		       uint16_t fault);
	/* The QP fails for a reason of its own. */
	void (*terminate)(struct rnic_qp *qp, uint16_t fault);

	/* ---- the QP and its link ---- */

	/* There is work, or may be.  The QP may end. */
	void (*transmit)(struct rnic_qp *qp);
	/* A held Send was delivered, and perhaps the QP has failed: what
	 * follows it is served.  @link: the QP's before that. */
	void (*go_on)(struct rnic_qp *qp, void *link);
	/* Ends in order when all that is posted is sent. */
	void (*close)(struct rnic_qp *qp);
	/* The QP has failed outside of a pass.  The link is not freed. */
	void (*failed)(struct rnic_qp *qp);
	/* The QP, which the caller fails, has no link any more.  @status: 0:
	 * in order; negative errno.  The link is not freed. */
	void (*detach)(struct rnic_qp *qp, int status);
	/* It goes on by itself, if it was detached, and may be freed. */
	void (*step)(void *link);
	void (*names)(const struct rnic_qp *qp,
		      struct sockaddr_storage *ret_local,
		      struct sockaddr_storage *ret_peer);
};

#endif
