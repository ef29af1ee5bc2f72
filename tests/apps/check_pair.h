/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* For programs of usiw check: a pair of QPs of one process, without rdma_cm. */
#ifndef CHECK_PAIR_H
#define CHECK_PAIR_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "needs.h"

#define LIMIT_S 20
#define LEN 4096
#define DEPTH 16

/* How a case differs from the others. */
struct want {
	int cqe;
	uint32_t send_wr, inline_len;
	bool is_all_signaled;
	int access;
	bool has_channel, has_srq;
};

#define WANT_USUAL                                                             \
	{ .cqe = 4 * DEPTH,                                                    \
	  .send_wr = DEPTH,                                                    \
	  .is_all_signaled = true,                                             \
	  .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |         \
		    IBV_ACCESS_REMOTE_READ }

extern struct ibv_context *context;
extern union ibv_gid gid;
extern struct ibv_pd *pd;
extern struct ibv_comp_channel *channel;
extern struct ibv_cq *cq;
extern struct ibv_srq *srq;
extern struct ibv_qp *qp[2];
extern uint8_t *buf; /* LEN octets for each QP */
extern struct ibv_mr *mr;
extern uint32_t at; /* of the memory that is posted */

void device_open(void);
struct ibv_qp *qp_make(const struct want *want);
void to_init(struct ibv_qp *one);
void to_rts(struct ibv_qp *one, const struct ibv_qp *other);
void to_reset(struct ibv_qp *one);
void pair_connect(void);
void pair_make(const struct want *want);
void usual(void);
void pair_end(void);
struct ibv_sge sge_of(int i, uint32_t len);
int recv_post(int i, uint64_t wr_id);
int send_post(int i, enum ibv_wr_opcode opcode, uint32_t len,
	      unsigned int flags, uint64_t wr_id);
/* By the key of another region, or of a window. */
int write_post(int i, uint32_t rkey);
enum ibv_wc_status wc_wait(void);
void wcs_wait(int cnt);
void write_now(void);

struct check_case {
	const char *name;
	void (*run)(void);
};

#define CHECK_CASE(name) { #name, name }

/* check_datagram.c */
void datagram_changed(void);
void datagram_unacked(void);

/* Programs that nearly have a fault.  The last one has no name. */
extern const struct check_case near_cases[];
/* Programs that free memory. */
extern const struct check_case memory_cases[];

#endif
