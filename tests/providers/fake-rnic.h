/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A RNIC that moves nothing: real rings, and a record of what the provider
 * asked for.  Tests play the engine: they consume what was posted, push
 * completions, and say which call fails with what.
 */
#ifndef FAKE_RNIC_H
#define FAKE_RNIC_H

#include "../../providers/usiw/objects.h"
#include "../../providers/usiw/usiwdv.h"

struct fake_rnic {
	/* what the next calls answer; set by tests */
	const char *fail_name; /* this function ... */
	int fail_err;	       /* ... answers this */
	uint32_t fork_gen;
	bool can_renew; /* what a child inherits */
	struct rnic_limits limits;
	struct rnic_device_attr device;
	enum rnic_qp_state qp_state;
	uint32_t comp_events, async_events; /* destroy functions */
	uint64_t clock_ns;
	bool completes_when_retired; /* a QP, once in each of its CQs */
	bool wants_progress;
	void (*on_progress)(struct rnic_cq *cq);

	/* what was asked */
	uint32_t open_cnt; /* objects alive */
	uint32_t ring_sq_cnt, ring_rq_cnt, ring_srq_cnt, arm_cnt;
	int sleep_cnt, sleep_ret;      /* rnic_cq_sleep_begin() */
	int tcp_error;		       /* rnic_qp_error() */
	_Atomic uint32_t progress_cnt; /* threads poll */
	bool is_solicited_only;
	uint32_t cq_flags;
	uint32_t access;
	struct sockaddr_storage local, peer; /* family 0: not connected */
	uint64_t iova;
	uint32_t mr_access;
	uint32_t mr_key; /* added to STags */
	struct rnic_mr_change change;
	enum rnic_mw_type mw_type;
	uint32_t advice, advice_cnt;
	struct usiw_sge advice_sge; /* the last */
	uint8_t dm[256];	    /* all the device memory there is */
	uint64_t dm_off;
	size_t dm_len;
	uint32_t dm_log_align;
	uint32_t srq_limit;
	uint32_t move_cnt;
	enum rnic_qp_state moves[8]; /* arguments of rnic_qp_modify() */
	int chan_refs;
	uint64_t handle; /* of the object made last */

	struct { /* connecting without rdma_cm */
		uint32_t cnt, send_cnt;
		struct rnic_oob_options opt;
		struct rnic_oob_send_options send;
	} oob;

	struct {				/* attaching a socket */
		struct rnic_attach_start start; /* what the peer says */
		size_t taken;
		struct rnic_attach_options opt; /* what was asked */
		int fd;
		uint32_t alive, wait_cnt, accept_cnt, reject_cnt, finish_cnt;
		uint8_t pd[USIWDV_PRIVATE_MAX]; /* of the answer */
		size_t pd_len;
		uint16_t ird, ord;
	} attach;
};

extern struct fake_rnic fake;
/* Of the preload library. */
extern char usiw_interface[sizeof(USIW_INTERFACE)];

/* The state every test starts from. */
void fake_reset(void);

/* Every QP's number. */
#define FAKE_QP_NUM 0xabcd12

/* The fd number that is a completion channel. */
#define FAKE_CHAN_FD 4711

/* Push @cqe as the engine would. */
void fake_cq_push(struct rnic_cq *cq, const struct usiw_cqe *cqe);

/* A context of the device "usiw_fake", opened through the provider. */
struct ibv_context *fake_open(void);
void fake_close(struct ibv_context *context);

/* On that context: what most tests need. */
struct fake_world {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;     /* own RQ; state RTS as far as rnic says */
	struct ibv_qp *srq_qp; /* on srq */
};

/* cmocka fixtures; *state is a struct fake_world. */
int fake_setup(void **state);
int fake_teardown(void **state);
#define FAKE_TEST(f)                                                           \
	cmocka_unit_test_setup_teardown(f, fake_setup, fake_teardown)

/* RC on w->cq: 4 WRs, 3 SGEs, 32 octets inline. */
struct ibv_qp_init_attr fake_qp_attr(const struct fake_world *w);

/* A completion with a value in each field; three SGEs; a signalled WR with the
 * first two of them, and with what any opcode wants. */
extern const struct usiw_cqe fake_cqe;
extern struct ibv_sge fake_sges[3];
struct ibv_send_wr fake_send_wr(enum ibv_wr_opcode opcode);

/* The library's, for providers. */
void verbs_init_cq(struct ibv_cq *cq, struct ibv_context *context,
		   struct ibv_comp_channel *channel, void *cq_context);

#endif
