/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * QPs that wait for a peer out of band, and the TCP connections that may come
 * from it. The loop's lock guards all of it.
 */
#ifndef RNIC_OOB_OBJECT_H
#define RNIC_OOB_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "rnic.h"
#include "start/start.h"

#define OOB_FRAME_LEN 24
#define OOB_RNR_RETRY_UNKNOWN 0xff

/* Private data of Request and Reply, from the sender's point of view. */
struct oob_frame {
	uint8_t min_rnr_timer; /* as in ibv_qp_attr */
	uint8_t rnr_retry;     /* or OOB_RNR_RETRY_UNKNOWN: not RTS yet */
	uint8_t type;	       /* enum rnic_qp_type; 0, as before types: RC */
	uint32_t src_num, dst_num;
	uint64_t nonce; /* the dialling side's, in both */
};

LIST_HEAD(oob_list, oob);

struct oob {
	LIST_ENTRY(oob) bucket_link, all_link;
	struct rnic_timer redial; /* running: will be dialled again */
	struct rnic_qp *qp;
	uint32_t num, dest_num;
	struct sockaddr_storage local, peer; /* peer: with the port to dial */
	struct rnic_oob_options opt;
	uint8_t rnr_retry;
	bool is_dialler;
	uint64_t nonce;
	struct oob_link *link; /* the present try */
	uint32_t try_cnt;
	uint64_t retry_ns, deadline_ns; /* 0: no limit */
};

enum oob_link_phase {
	OOB_LINK_CONNECTING, /* TCP handshake */
	OOB_LINK_STARTING,   /* start frames */
	OOB_LINK_PARKED,     /* a Request for a QP that does not wait yet */
	OOB_LINK_ANSWERED,   /* Reply sent, RTR of the dialling side awaited */
};

struct oob_link {
	struct rnic_start start;   /* must be the first */
	enum oob_link_phase phase; /* changed by link_enter() */
	struct oob *oob;	   /* NULL: accepted, not yet answered */
	struct oob_frame frame;	   /* the peer's, once it has arrived */
};

#endif
