/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Two QPs of two contexts on usiw_lo, connected by a loopback TCP connection.
 * The harness does the MPA start itself, without the connection manager.
 * USIW_LOCAL says whether the QPs use the local path.
 *
 * A failure of the harness aborts, because it is an error of the test.
 */
#ifndef RNICPAIR_H
#define RNICPAIR_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "rnic.h"
#include "stream/start.h"
#include "until.h"

#define RNICPAIR_LIMIT_MS UNTIL_LIMIT_MS

struct rnicpair_options {
	enum rnic_qp_type type; /* UD: for rnicpair_open_idle() */
	bool has_crc;
	uint16_t ird, ord; /* of both sides; 0: none */
	uint8_t rtr;	   /* enum smpa_rtr; 0: client-server model */
	uint32_t max_wr;   /* SQ and RQ */
	uint32_t max_sge;
	uint32_t max_inline;
	uint32_t cqe;
	uint32_t srq_wr; /* > 0: side 1 receives from an SRQ */
	bool has_chan;	 /* completion channel for all CQs */
	size_t buf_len;
	int sockbuf;	 /* SO_SNDBUF and SO_RCVBUF; 0: default */
	uint64_t cm_ref; /* side i has cm_ref + i; 0: none */
};

/* clang-format off */
#define RNICPAIR_OPTIONS_INIT                                                  \
	{                                                                      \
		.has_crc = true, .ird = 8, .ord = 8,                           \
		.rtr = SMPA_RTR_WRITE | SMPA_RTR_READ, .max_wr = 64,           \
		.max_sge = 4, .max_inline = 128, .cqe = 256,                   \
		.buf_len = (size_t)4 << 20,                                    \
	}
/* clang-format on */

struct rnicpair_side {
	struct rnic_context *ctx;
	struct rnic_pd *pd;
	struct rnic_chan *chan; /* NULL: none */
	struct rnic_cq *scq, *rcq;
	struct rnic_srq *srq;
	struct rnic_qp *qp; /* NULL: the test has destroyed it */
	struct rnic_mr *mr;
	uint8_t *buf;
	size_t buf_len;
	uint32_t stag;
	/* Replaces the locks of the provider. */
	pthread_mutex_t sq_lock, rq_lock, cq_lock;
};

struct rnicpair {
	struct rnicpair_options opt;
	struct rnicpair_side side[2]; /* 0 is the MPA Initiator */
};

/* Opens both sides, connected or idle. */
void rnicpair_open(struct rnicpair *p, const struct rnicpair_options *opt);
void rnicpair_open_idle(struct rnicpair *p, const struct rnicpair_options *opt);
void rnicpair_connect(struct rnicpair *p);
/* Also works if the test has destroyed a QP and set it to NULL. */
void rnicpair_close(struct rnicpair *p);

/* Fixtures: a pair with the usual options, connected or with IDLE QPs. */
int rnicpair_setup(void **state);
int rnicpair_setup_idle(void **state);
int rnicpair_teardown(void **state);
#define PAIR_CASE(name) CASE_WITH(name, rnicpair_setup, rnicpair_teardown)
#define IDLE_PAIR_CASE(name)                                                   \
	CASE_WITH(name, rnicpair_setup_idle, rnicpair_teardown)

/* Makes another QP like that of @side, IDLE. */
struct rnic_qp *rnicpair_qp_new(struct rnicpair *p, int side);
/* Connects two IDLE QPs. */
void rnicpair_join(struct rnicpair *p, struct rnic_qp *initiator,
		   struct rnic_qp *responder);

/* ---- without rdma_cm ---- */

#define RNICPAIR_LO4 "::ffff:127.0.0.1"

/* Index of the address in usiw_lo's GID table; UINT32_MAX: not found. */
uint32_t rnicpair_gid_idx(const char *addr6);
/* Options of a QP of usiw_lo for a peer at that address. */
struct rnic_oob_options rnicpair_to(const char *addr6, uint32_t peer_num);
/* Moves the QP to RTR, with a peer at 127.0.0.1. */
int rnicpair_rtr(struct rnic_qp *qp, uint32_t peer_num);
/* The same; @peer is another QP of the test. */
void rnicpair_rtr_to(struct rnic_qp *qp, struct rnic_qp *peer);
/* Moves the QPs of both sides to RTR with each other, which connects them. */
void rnicpair_rtr_both(struct rnicpair *p);
/* Waits until both are connected, and so in RTS. */
void rnicpair_wait_rts(struct rnicpair *p);
/* The QP that accepts, and the QP that dials. Their numbers decide. */
struct rnic_qp *rnicpair_acceptor(struct rnicpair *p);
struct rnic_qp *rnicpair_dialler(struct rnicpair *p);

/* ---- sockets and the MPA start ---- */

/* A connected pair of non-blocking loopback sockets, registered in the fd
 * table. */
void rnicpair_sockets(int sockbuf, int fd[2]);

/* Does the MPA start of two streams over @fd, until both are ESTABLISHED. */
struct rnicpair_start {
	struct rnic_stream *stream[2];
	uint16_t ird[2], ord[2];
};
void rnicpair_start(const struct rnicpair_options *opt, const int fd[2],
		    struct rnicpair_start *ret_start);

/* ---- work ---- */

struct rnicpair_wr {
	uint64_t wr_id;
	uint8_t opcode; /* enum usiw_wr_opcode */
	uint8_t flags;	/* enum usiw_sqe_flags */
	uint16_t sge_cnt;
	const struct usiw_sge *sge;
	const void *inline_data; /* with USIW_SQE_INLINE */
	uint32_t inline_len;
	uint32_t rkey;
	uint64_t remote_addr;
	uint32_t imm_be;
	uint64_t compare_add, swap;
	const struct usiw_ud_sqe *to; /* its destination; NULL: none */
};

/* Octets [@off, @off + @len) of the side's buffer. */
struct usiw_sge rnicpair_sge(const struct rnicpair_side *s, size_t off,
			     size_t len);
/* Address of octet @off of the side's buffer, for the peer. */
uint64_t rnicpair_addr(const struct rnicpair_side *s, size_t off);

/* Return: 0; -ENOMEM: the ring is full. */
int rnicpair_post_qp(struct rnicpair_side *s, struct rnic_qp *qp,
		     const struct rnicpair_wr *wr);
int rnicpair_post(struct rnicpair_side *s, const struct rnicpair_wr *wr);
/* The same, of a WR with these fields, for which there is a free slot. */
#define rnicpair_post_wr(s, ...)                                               \
	must(!rnicpair_post(s, &(struct rnicpair_wr){ __VA_ARGS__ }))
int rnicpair_post_recv_qp(struct rnicpair_side *s, struct rnic_qp *qp,
			  uint64_t wr_id, const struct usiw_sge *sge,
			  uint32_t sge_cnt);
/* Posts to the SRQ if the side has one. */
int rnicpair_post_recv(struct rnicpair_side *s, uint64_t wr_id,
		       const struct usiw_sge *sge, uint32_t sge_cnt);

/* Makes a window on all of @mr with these rights, bound by @qp of that side. */
struct rnic_mw *rnicpair_window_open(struct rnicpair_side *s,
				     struct rnic_qp *qp,
				     const struct rnic_mr *mr,
				     enum rnic_mw_type type, uint32_t access);

/* Takes one completion without making progress. Return: false: none. */
bool rnicpair_peek(struct rnicpair_side *s, struct rnic_cq *cq,
		   struct usiw_cqe *ret_cqe);
/* As ibv_poll_cq(): checks, makes progress once, checks again. */
bool rnicpair_poll(struct rnicpair_side *s, struct rnic_cq *cq,
		   struct usiw_cqe *ret_cqe);
/* Polls this side until there is a completion; aborts at the time limit. */
struct usiw_cqe rnicpair_take(struct rnicpair_side *s, struct rnic_cq *cq);
/* The same with a longer time limit. */
struct usiw_cqe rnicpair_take_in(struct rnicpair_side *s, struct rnic_cq *cq,
				 uint64_t retry_ms);
/* Whether no completion arrives for a while. Both sides make progress. */
bool rnicpair_is_quiet(struct rnicpair *p, struct rnic_cq *cq);
/* A receive (wr_id 2) and a SEND (wr_id 1, signalled) that fills it. */
void rnicpair_post_echo(struct rnicpair *p, int from, size_t len);
/* A signalled READ of the other side's first @len octets into its own. */
void rnicpair_post_read(struct rnicpair *p, int by, uint64_t wr_id, size_t len);
void rnicpair_wait_state(struct rnicpair_side *s, enum rnic_qp_state state);

/* The next asynchronous event; aborts if there is none. Return: its type. */
uint32_t rnicpair_async(struct rnicpair_side *s, uint64_t *ret_element);
bool rnicpair_has_async(struct rnicpair_side *s);

/* The value of @expr, read while holding the engine's lead; engine/engine.h. */
#define with_lead(engine, expr)                                                \
	({                                                                     \
		rnic_engine_lead(engine);                                      \
		__typeof__(expr) value_ = (expr);                              \
		rnic_engine_unlead(engine);                                    \
		value_;                                                        \
	})

/* A pattern in which every position differs, and its check. */
void rnicpair_fill(uint8_t *mem, size_t len, uint32_t seed);
bool rnicpair_is_filled(const uint8_t *mem, size_t len, uint32_t seed);

/* CPU time of the process in microseconds. */
uint64_t rnicpair_cpu_us(void);

#endif
