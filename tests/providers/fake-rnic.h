/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * An RNIC that transfers nothing: real rings, and a record of the provider's
 * calls. Tests take the role of the engine: they consume posted entries, push
 * completions, and choose which call fails and how.
 */
#ifndef FAKE_RNIC_H
#define FAKE_RNIC_H

#include "providers/usiw/objects.h"
#include <infiniband/usiwdv.h>

struct fake_rnic {
	/* Results of the next calls; set by tests. */
	const char *fail_name; /* this function ... */
	int fail_err;	       /* ... returns this */
	uint32_t fork_gen;
	bool can_renew; /* result for a forked child */
	struct rnic_limits limits;
	struct rnic_device_attr device;
	enum rnic_qp_state qp_state;
	uint32_t comp_events,
		async_events; /* number of events, for destroy functions */
	uint64_t clock_ns;
	bool completes_when_retired; /* a QP adds one to each of its CQs */
	bool wants_progress;
	void (*on_progress)(struct rnic_cq *cq);

	_Atomic uint32_t observed; /* rnic_observed_word() */
	/* Of rnic_observer_begin(): this one, and others behind it; NULL: no
	 * room. */
	struct usiw_record *record;
	uint32_t record_max;
	bool no_guard;			/* rnic_guard_copy() */
	const char *fault_name;		/* rnic_fault_call(): this call ... */
	int fault_err;			/* ... returns this */
	const struct rnic_qp *fault_qp; /* recorded */

	/* Recorded calls. */
	uint32_t open_cnt; /* number of objects */
	uint32_t ring_sq_cnt, ring_rq_cnt, ring_srq_cnt, arm_cnt;
	int sleep_cnt, sleep_ret;      /* rnic_cq_sleep_begin() */
	int tcp_error;		       /* rnic_qp_error() */
	_Atomic uint32_t progress_cnt; /* number of polling threads */
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
	struct usiw_sge advice_sge; /* the last one */
	uint8_t dm[256];	    /* all device memory */
	uint64_t dm_off;
	size_t dm_len;
	uint32_t dm_log_align;
	uint32_t srq_limit;
	uint32_t observer_end_cnt, copy_cnt;
	uint32_t move_cnt;
	enum rnic_qp_state moves[8]; /* arguments of rnic_qp_modify() */
	int chan_refs;
	uint64_t handle; /* of the newest object */

	struct { /* connecting without rdma_cm */
		uint32_t cnt, send_cnt;
		struct rnic_oob_options opt;
		struct rnic_oob_send_options send;
	} oob;
	enum rnic_qp_type qp_type; /* of the last one made */

	struct { /* datagrams */
		uint32_t start_cnt, set_cnt;
		struct rnic_ud_options opt; /* the last */
		bool is_own;		    /* rnic_gid_is_own() */
		uint32_t group_cnt;
		uint8_t mgid[16]; /* the last one attached or detached */
	} ud;

	struct {				/* attaching a socket */
		struct rnic_attach_start start; /* the peer's values */
		size_t taken;
		struct rnic_attach_options opt; /* the requested values */
		int fd;
		uint32_t alive, wait_cnt, accept_cnt, reject_cnt, finish_cnt;
		uint8_t pd[USIWDV_PRIVATE_MAX]; /* of the answer */
		size_t pd_len;
		uint16_t ird, ord;
	} attach;
};

extern struct fake_rnic fake;

/* Octets of each record that a test gets. */
#define FAKE_RECORD_SIZE 2048

/* For a call of the RNIC: what fail_name and fail_err say. */
int fake_result_of(const char *name);
/* Symbol of the preload library. */
extern char usiw_interface[sizeof(USIW_INTERFACE)];

/* The initial state of each test. */
void fake_reset(void);

/* The number of every QP. */
#define FAKE_QP_NUM 0xabcd12

/* The fd that counts as a completion channel. */
#define FAKE_CHAN_FD 4711

/* Pushes @cqe as the engine would. */
void fake_cq_push(struct rnic_cq *cq, const struct usiw_cqe *cqe);

/* Opens a context of the device "usiw_fake" through the provider. */
struct ibv_context *fake_open(void);
void fake_close(struct ibv_context *context);

/* The objects that most tests need, on that context. */
struct fake_world {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;     /* has its own RQ; state RTS according to rnic */
	struct ibv_qp *srq_qp; /* on srq */
};

/* cmocka fixtures; *state is a struct fake_world. */
int fake_setup(void **state);
int fake_teardown(void **state);
#define FAKE_CASE(name) CASE_WITH(name, fake_setup, fake_teardown)

/* RC on w->cq: 4 WRs, 3 SGEs, 32 octets inline. */
struct ibv_qp_init_attr fake_qp_attr(const struct fake_world *w);

/* A completion with a value in each field; three SGEs; a signalled WR with the
 * first two SGEs and values for any opcode. */
extern const struct usiw_cqe fake_cqe;
extern struct ibv_sge fake_sges[3];
struct ibv_send_wr fake_send_wr(enum ibv_wr_opcode opcode);

/* Functions of libibverbs for providers. */
void verbs_init_cq(struct ibv_cq *cq, struct ibv_context *context,
		   struct ibv_comp_channel *channel, void *cq_context);

#endif
