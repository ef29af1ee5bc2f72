/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * 16 processes, each connected to every other by ibv_modify_qp(), send each
 * other a block per round and compare every octet. With "kill", one process is
 * killed in the middle: the QPs of the others to it must end, and no other QP.
 */
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define NEEDS(what)                                                            \
	do {                                                                   \
		if (!(what)) {                                                 \
			fprintf(stderr, "rank %d, line %d: %s\n", rank,        \
				__LINE__, #what);                              \
			exit(1);                                               \
		}                                                              \
	} while (0)

#define RANKS 16
#define ROUNDS 20
#define WORDS 2048
#define VICTIM 7
#define PROBE_MS 100 /* time without messages before it checks its peers */
#define PROBE_ID UINT64_MAX

typedef uint64_t block[WORDS];

/* Shared memory of all processes. */
struct shared {
	pthread_barrier_t all, survivors;
	struct {
		union ibv_gid gid;
		uint64_t in;
		uint32_t rkey, num[RANKS];
	} card[RANKS];
};

static struct shared *shared;

static int rank = -1;
static bool is_killing;
static block out[RANKS], in[2][RANKS];
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_pd *pd;
static struct ibv_mr *out_mr, *in_mr;
static struct ibv_qp *qp[RANKS];
static unsigned int sent_cnt, got_cnt[ROUNDS], flushed_cnt;
static bool is_victim_gone, is_probing;

static uint64_t word_of(int from, int to, int round, int i)
{
	return ((uint64_t)from << 48 | (uint64_t)to << 32 |
		(uint64_t)round << 16 | (uint64_t)i) *
	       UINT64_C(0x9e3779b97f4a7c15);
}

static void post_recv(int peer)
{
	struct ibv_recv_wr *bad, wr = { .wr_id = (uint64_t)peer };

	NEEDS(!ibv_post_recv(qp[peer], &wr, &bad));
}

static void open_all(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **dev = list;
	struct ibv_context *ctx;

	while (*dev && strcmp(ibv_get_device_name(*dev), "usiw_lo"))
		dev++;
	NEEDS(ctx = ibv_open_device(*dev));
	ibv_free_device_list(list);
	NEEDS(pd = ibv_alloc_pd(ctx));
	NEEDS(channel = ibv_create_comp_channel(ctx));
	NEEDS(cq = ibv_create_cq(ctx, 8 * RANKS, NULL, channel, 0));
	NEEDS(out_mr = ibv_reg_mr(pd, out, sizeof(out), 0));
	NEEDS(in_mr = ibv_reg_mr(pd, in, sizeof(in),
				 IBV_ACCESS_LOCAL_WRITE |
					 IBV_ACCESS_REMOTE_WRITE));
	NEEDS(!ibv_query_gid(ctx, 1, 0, &shared->card[rank].gid));
	shared->card[rank].in = (uintptr_t)in;
	shared->card[rank].rkey = in_mr->rkey;
	for (int peer = 0; peer < RANKS; peer++) {
		struct ibv_qp_init_attr init = {
			.send_cq = cq,
			.recv_cq = cq,
			.qp_type = IBV_QPT_RC,
			.cap = { 4, 2, 1, 1, 0 },
			.sq_sig_all = 1,
		};
		struct ibv_qp_attr attr = {
			.qp_state = IBV_QPS_INIT,
			.port_num = 1,
			.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		};

		if (peer == rank)
			continue;
		NEEDS(qp[peer] = ibv_create_qp(pd, &init));
		NEEDS(!ibv_modify_qp(qp[peer], &attr,
				     IBV_QP_STATE | IBV_QP_PKEY_INDEX |
					     IBV_QP_PORT |
					     IBV_QP_ACCESS_FLAGS));
		post_recv(peer);
		post_recv(peer);
		shared->card[rank].num[peer] = qp[peer]->qp_num;
	}
}

static void connect_to(int peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = shared->card[peer].num[rank],
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh.dgid = shared->card[peer].gid },
	};

	NEEDS(!ibv_modify_qp(qp[peer], &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				     IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER));
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .timeout = 14,
				     .retry_cnt = 7,
				     .rnr_retry = 7 };
	NEEDS(!ibv_modify_qp(qp[peer], &attr,
			     IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
				     IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_MAX_QP_RD_ATOMIC));
}

static void post_block(int peer, int round)
{
	struct ibv_sge sge = { (uintptr_t)out[peer], sizeof(block),
			       out_mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = (uint64_t)peer,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = (uint32_t)round,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { shared->card[peer].in +
				     sizeof(in[0]) * (round & 1) +
				     sizeof(block) * (size_t)rank,
			     shared->card[peer].rkey },
	};

	NEEDS(!ibv_post_send(qp[peer], &wr, &bad));
}

/* A side detects the end of its peer only when it sends. */
static void probe_victim(void)
{
	struct ibv_send_wr *bad,
		wr = { .wr_id = PROBE_ID, .opcode = IBV_WR_RDMA_WRITE };

	if (!is_killing || rank == VICTIM || is_probing)
		return;
	is_probing = true;
	NEEDS(!ibv_post_send(qp[VICTIM], &wr, &bad));
}

static void take(const struct ibv_wc *wc)
{
	if (wc->status != IBV_WC_SUCCESS) {
		NEEDS(is_killing && rank != VICTIM &&
		      wc->qp_num == qp[VICTIM]->qp_num);
		is_victim_gone = true;
		flushed_cnt++;
	} else if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
		NEEDS(wc->imm_data < ROUNDS && wc->byte_len == sizeof(block));
		got_cnt[wc->imm_data]++;
		post_recv((int)wc->wr_id);
	} else if (wc->wr_id == PROBE_ID) {
		is_probing = false;
	} else {
		sent_cnt++;
	}
}

/* Handles all completions, or waits if there are none. */
static void progress(void)
{
	struct pollfd pfd = { .fd = channel->fd, .events = POLLIN };
	struct ibv_cq *which;
	struct ibv_wc wc;
	void *unused;
	int cnt = 0;

	NEEDS(!ibv_req_notify_cq(cq, 0));
	for (; ibv_poll_cq(cq, 1, &wc) == 1; cnt++)
		take(&wc);
	if (cnt)
		return;
	if (poll(&pfd, 1, PROBE_MS) == 0) {
		probe_victim();
		return;
	}
	NEEDS(!ibv_get_cq_event(channel, &which, &unused));
	ibv_ack_cq_events(which, 1);
}

static void exchange(int round)
{
	for (int peer = 0; peer < RANKS; peer++) {
		if (is_killing && rank == VICTIM && round == ROUNDS / 2 &&
		    peer == RANKS / 2)
			raise(SIGKILL);
		for (int i = 0; i < WORDS; i++)
			out[peer][i] = word_of(rank, peer, round, i);
		if (peer != rank)
			post_block(peer, round);
	}
	while ((sent_cnt < (unsigned int)(round + 1) * (RANKS - 1) ||
		got_cnt[round] < RANKS - 1) &&
	       !is_victim_gone)
		progress();
	for (int peer = 0; peer < RANKS && !is_victim_gone; peer++)
		for (int i = 0; i < WORDS && peer != rank; i++)
			NEEDS(in[round & 1][peer][i] ==
			      word_of(peer, rank, round, i));
}

/* All work posted for the killed process completes. Other connections are not
 * affected. */
static void look_back(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	NEEDS(is_victim_gone == is_killing);
	while (is_victim_gone && flushed_cnt < 3)
		progress();
	for (int peer = 0; peer < RANKS; peer++) {
		if (peer == rank)
			continue;
		NEEDS(!ibv_query_qp(qp[peer], &attr, IBV_QP_STATE, &init));
		NEEDS(attr.qp_state == (is_killing && peer == VICTIM
						? IBV_QPS_ERR
						: IBV_QPS_RTS));
	}
}

static void live(int r)
{
	rank = r;
	alarm(60);
	open_all();
	pthread_barrier_wait(&shared->all);
	for (int peer = 0; peer < RANKS; peer++)
		if (peer != rank)
			connect_to(peer);
	for (int round = 0; round < ROUNDS && !is_victim_gone; round++)
		exchange(round);
	look_back();
	pthread_barrier_wait(is_killing ? &shared->survivors : &shared->all);
	for (int peer = 0; peer < RANKS; peer++)
		NEEDS(peer == rank || !ibv_destroy_qp(qp[peer]));
	exit(0);
}

int main(int argc, char **argv)
{
	pthread_barrierattr_t attr;
	pid_t pid[RANKS];

	is_killing = argc > 1 && !strcmp(argv[1], "kill");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	NEEDS(shared != MAP_FAILED);
	pthread_barrierattr_init(&attr);
	pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->all, &attr, RANKS);
	pthread_barrier_init(&shared->survivors, &attr, RANKS - 1);
	for (int r = 0; r < RANKS; r++) {
		pid[r] = fork();
		NEEDS(pid[r] >= 0);
		if (pid[r] == 0)
			live(r);
	}
	for (int r = 0; r < RANKS; r++) {
		int status;

		NEEDS(waitpid(pid[r], &status, 0) == pid[r]);
		NEEDS(is_killing && r == VICTIM
			      ? WIFSIGNALED(status) &&
					WTERMSIG(status) == SIGKILL
			      : status == 0);
	}
	puts("good");
	return 0;
}
