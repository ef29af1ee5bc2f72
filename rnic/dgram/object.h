/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The link of a UD QP.  Guarded by the lead of its engine. */
#ifndef RNIC_DGRAM_OBJECT_H
#define RNIC_DGRAM_OBJECT_H

#include "dev/device.h"
#include "engine/object.h"
#include "full.h"
#include "local/inbox.h"
#include "mem/context.h"
#include "os/stat.h"
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
	uint64_t drop_ns;   /* until then a stranger's work is dropped */
	int waker_fd;	    /* by which it is woken; made with the inbox */
	bool is_nameless;   /* another process has its name */
	bool is_socket_due; /* it may have something, beside the inbox */
};

/* Of a UD QP; NULL: it is IDLE, or has ended. */
static inline struct rnic_ud *rnic_qp_ud(const struct rnic_qp *qp)
{
	return qp->link;
}

/* The counters of its port that its lead guards. */
static inline struct usiw_res_device_count *
rnic_ud_port(const struct rnic_ud *ud)
{
	return rnic_device_count(ud->qp->ctx->dev, ud->engine->stat);
}

/* The process's counter grows, and that of the port, @counter. */
static inline void rnic_ud_count(const struct rnic_ud *ud, enum rnic_stat stat,
				 _Atomic uint64_t *counter, uint64_t more)
{
	rnic_stat_count(ud->engine->stat, stat, more);
	rnic_stat_grow(counter, ud->engine->stat, more);
}

#endif
