/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The link of a UD QP.  Guarded by the lead of its engine. */
#ifndef RNIC_DGRAM_OBJECT_H
#define RNIC_DGRAM_OBJECT_H

#include "engine/object.h"
#include "full.h"
#include "local/inbox.h"
#include "qp/object.h"

struct rnic_peer;
struct rnic_udp_batch;

/* What happens to a datagram of this host. */
enum rnic_ud_recv {
	RNIC_UD_TAKE, /* there was a receive for the last one */
	RNIC_UD_WAIT, /* it waits for one */
	RNIC_UD_LOSE, /* there has been none for long */
};

struct rnic_ud {
	struct rnic_source source; /* datagrams of this host */
	struct rnic_engine *engine;
	struct rnic_qp *qp; /* NULL: about to be freed */
	uint32_t qkey;
	uint32_t psn; /* of the next datagram */
	uint32_t mtu; /* octets of payload */
	enum rnic_ud_recv recv;
	uint64_t wait_end_ns;	      /* RNIC_UD_WAIT */
	struct rnic_full full;	      /* receivers that it sends to */
	struct rnic_udp_batch *batch; /* of packets; made with the first */
	struct rnic_peer *peers;      /* those of this host; NULL: none */
	struct rnic_inbox inbox;      /* made when somebody asks for it */
	int inbox_fd;		      /* to be given; -1 */
	bool is_nameless;   /* its socket has no name; a stranger's work */
	bool is_socket_due; /* it may have something, beside the inbox */
};

/* Of a UD QP; NULL: it is IDLE, or has ended. */
static inline struct rnic_ud *rnic_qp_ud(const struct rnic_qp *qp)
{
	return qp->link;
}

#endif
