/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Endpoints of rdma_cm, on 127.0.0.1 and a port that the program chooses.
 */
#ifndef ENDPOINT_H
#define ENDPOINT_H

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdint.h>

#include "needs.h"

/* The private data of the other end. */
struct where {
	uint64_t addr;
	uint32_t rkey;
};

static inline struct ibv_qp_init_attr endpoint_attr(uint32_t send_wr,
						    uint32_t recv_wr)
{
	return (struct ibv_qp_init_attr){
		.cap = { .max_send_wr = send_wr,
			 .max_recv_wr = recv_wr,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
}

/* @attr: attributes of the QP; NULL: makes a listener. */
static inline struct rdma_cm_id *endpoint(const char *port,
					  struct ibv_qp_init_attr *attr)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP,
				       .ai_flags = attr ? 0 : RAI_PASSIVE };
	struct rdma_addrinfo *info;
	struct rdma_cm_id *id;

	NEEDS(!rdma_getaddrinfo("127.0.0.1", port, &hints, &info));
	NEEDS(!rdma_create_ep(&id, info, NULL, attr));
	rdma_freeaddrinfo(info);
	return id;
}

/* Makes a listener at a free port. */
static inline struct rdma_cm_id *endpoint_listen(int backlog, char ret_port[8])
{
	struct rdma_cm_id *id = endpoint("0", NULL);

	NEEDS(!rdma_listen(id, backlog));
	snprintf(ret_port, 8, "%u", ntohs(rdma_get_src_port(id)));
	return id;
}

#endif
