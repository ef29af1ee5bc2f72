/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Many threads post, poll, arm, resize, connect, reset and destroy at random,
 * on queue pairs that all of them share. Every signalled send and every receive
 * must complete exactly once. Expected and seen completions are counted per
 * queue pair.
 *
 * Runs alone under `usiw run`, and connects to itself. The seed, which it
 * prints, determines what it does, except for the order in which threads run.
 *
 * USIW_STRESS_SECONDS  how long (default 5)
 * USIW_STRESS_SEED     the seed (default: the clock)
 */
#include "verbs_stress.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <infiniband/usiwdv.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

struct run run;

/* ---- making and ending links ---- */

static void qp_modify(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE) == 0);
}

static void life_new(struct link *l)
{
	uint32_t no = atomic_fetch_add(&run.life_cnt, 1);

	MUST(no < LIFE_MAX);
	l->life = calloc(1, sizeof(*l->life));
	MUST(l->life);
	run.lives[no] = l->life;
	l->life_no = no;
}

static void side_make(struct side *s, struct world *w, uint32_t *rng)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 2,
			 .max_recv_sge = 2,
			 .max_inline_data = 32 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = DEPTH,
						   .max_sge = 2 } };
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		     IBV_ACCESS_REMOTE_READ |
		     (run.has_atomics ? IBV_ACCESS_REMOTE_ATOMIC : 0);

	s->scq = &w->pool[pick(rng, POOL_CNT)];
	s->rcq = &w->pool[pick(rng, POOL_CNT)];
	if (pick(rng, 3) == 0) {
		s->own.is_single = pick(rng, 2);
		queue_open(&s->own, w, 1 + (int)pick(rng, 40), rng);
		s->scq = &s->own;
		if (s->own.is_single || pick(rng, 2))
			s->rcq = &s->own;
	}
	s->srq = NULL;
	if (pick(rng, 4) == 0)
		MUST(s->srq = ibv_create_srq(w->pd, &srq));
	MUST(s->mr = ibv_reg_mr(w->pd, s->buf, BUF_LEN, access));
	queue_reserve(s->scq, DEPTH);
	queue_reserve(s->rcq, DEPTH);
	attr.send_cq = s->scq->cq;
	attr.recv_cq = s->rcq->cq;
	attr.srq = s->srq;
	MUST(s->qp = ibv_create_qp(w->pd, &attr));
	MUST(ibv_destroy_cq(s->scq->cq) == EBUSY);
}

/* The completions of a QP are removed with it. Their share of the CQs is free
 * at once, and a CQ that no other QP uses is empty. */
static void side_unmake(struct side *s)
{
	MUST(ibv_destroy_qp(s->qp) == 0);
	if (s->own.cq)
		MUST(queue_poll(&s->own, 8) == 0);
	queue_reserve(s->scq, -DEPTH);
	queue_reserve(s->rcq, -DEPTH);
	if (s->srq)
		MUST(ibv_destroy_srq(s->srq) == 0);
	if (s->mr)
		MUST(ibv_dereg_mr(s->mr) == 0);
	if (s->own.cq)
		queue_close(&s->own);
}

static void link_make(struct link *l, uint32_t *rng)
{
	life_new(l);
	for (int i = 0; i < 2; i++) {
		side_make(&l->side[i], &run.world[i], rng);
		qp_modify(l->side[i].qp, IBV_QPS_INIT);
		l->life->has_srq[i] = l->side[i].srq;
	}
	l->is_made = true;
}

/* Number of work requests without completion. Those of an SRQ stay for other
 * QPs. */
static uint32_t work_missing(struct link *l, int i)
{
	struct life *life = l->life;
	uint32_t cnt = atomic_load(&life->work[i][0].expected) -
		       atomic_load(&life->work[i][0].seen);

	if (!l->side[i].srq)
		cnt += atomic_load(&life->work[i][1].expected) -
		       atomic_load(&life->work[i][1].seen);
	return cnt;
}

/* Waits until all posted work has completed. Flushes it if necessary. */
static void link_settle(struct link *l)
{
	uint64_t end_ms = now_ms() + LIMIT_S * 1000;

	for (int i = 0; i < 2; i++)
		qp_modify(l->side[i].qp, IBV_QPS_ERR);
	for (int i = 0; i < 2; i++) {
		while (work_missing(l, i)) {
			MUST(now_ms() < end_ms);
			queue_poll(l->side[i].scq, 8);
			queue_poll(l->side[i].rcq, 7);
		}
	}
	l->life->is_settled = true;
}

/* Moves the QPs to RESET and INIT, as if new. */
static void link_reset(struct link *l)
{
	for (int i = 0; i < 2; i++) {
		qp_modify(l->side[i].qp, IBV_QPS_RESET);
		queue_drain(l->side[i].scq);
		queue_drain(l->side[i].rcq);
		/* Receives in an SRQ have records of the previous life, so the
		 * SRQ must be destroyed with them. */
		MUST(!l->side[i].srq);
		qp_modify(l->side[i].qp, IBV_QPS_INIT);
	}
	life_new(l);
	l->is_connected = false;
	atomic_fetch_add(&run.resets, 1);
}

static void link_unmake(struct link *l)
{
	for (int i = 0; i < 2; i++)
		side_unmake(&l->side[i]);
	l->is_made = false;
	l->is_connected = false;
}

/* ---- connecting ---- */

static void sockets_new(int fd[2])
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	MUST(listener >= 0);
	MUST(bind(listener, (struct sockaddr *)&addr, sizeof(addr)) == 0);
	MUST(listen(listener, 1) == 0);
	MUST(getsockname(listener, (struct sockaddr *)&addr, &len) == 0);
	fd[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	MUST(fd[0] >= 0);
	MUST(connect(fd[0], (struct sockaddr *)&addr, sizeof(addr)) == 0);
	fd[1] = accept(listener, NULL, NULL);
	MUST(fd[1] >= 0);
	close(listener);
}

struct attachment {
	struct ibv_qp *qp;
	int fd;
	uint32_t role;
};

static void *attach(void *arg)
{
	const struct attachment *a = arg;
	struct usiwdv_attach_attr attr = { .size = sizeof(attr),
					   .role = a->role,
					   .timeout_ms = LIMIT_S * 1000,
					   .ird = 4,
					   .ord = 4 };

	MUST(usiwdv_qp_attach_fd(a->qp, a->fd, &attr) == 0);
	close(a->fd);
	return NULL;
}

static void link_connect(struct link *l)
{
	struct attachment a[2];
	pthread_t thread;
	int fd[2];

	sockets_new(fd);
	for (int i = 0; i < 2; i++)
		a[i] = (struct attachment){ l->side[i].qp, fd[i],
					    i ? USIWDV_RESPONDER
					      : USIWDV_INITIATOR };
	MUST(pthread_create(&thread, NULL, attach, &a[1]) == 0);
	attach(&a[0]);
	pthread_join(thread, NULL);
	l->is_connected = true;
	atomic_fetch_add(&run.connects, 1);
}

/* ---- posting ---- */

/* Reserves a place in the queue and a record. Return: -1: there is none. */
static int work_begin(struct work *work, int depth)
{
	uint32_t rec;

	if (atomic_fetch_add(&work->inflight, 1) >= depth)
		goto full;
	rec = atomic_load(&work->next);
	do {
		if (rec >= REC_CNT)
			goto full;
	} while (!atomic_compare_exchange_weak(&work->next, &rec, rec + 1));
	return (int)rec;
full:
	atomic_fetch_sub(&work->inflight, 1);
	return -1;
}

/* Called before the post, because the completion may come before the post
 * returns. */
static void work_expect(struct work *work, int rec, bool is_signaled)
{
	atomic_store(&work->rec[rec], is_signaled ? REC_SIGNALED : REC_QUIET);
	if (is_signaled)
		atomic_fetch_add(&work->expected, 1);
	atomic_fetch_add(&run.posted, 1);
}

static void post_recv(struct link *l, int i)
{
	struct side *s = &l->side[i];
	struct work *work = &l->life->work[i][1];
	struct ibv_sge sge = { (uintptr_t)s->buf, BUF_LEN, s->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	int rec = work_begin(work, DEPTH);

	if (rec < 0)
		return;
	work_expect(work, rec, true);
	wr.wr_id = id_of(l->life_no, i, 1, (uint32_t)rec);
	if (s->srq)
		MUST_QUIETLY(ibv_post_srq_recv(s->srq, &wr, &bad));
	else
		MUST_QUIETLY(ibv_post_recv(s->qp, &wr, &bad));
	atomic_fetch_add(&l->life->credits[i], 1);
}

static bool credit_take(struct life *life, int i)
{
	if (atomic_fetch_sub(&life->credits[i], 1) > 0)
		return true;
	atomic_fetch_add(&life->credits[i], 1);
	return false;
}

/* Usually with a matching receive at the peer. */
static enum ibv_wr_opcode send_opcode(struct life *life, int i, uint32_t *rng)
{
	static const enum ibv_wr_opcode takers[] = {
		IBV_WR_SEND, IBV_WR_SEND, IBV_WR_SEND_WITH_IMM,
		IBV_WR_RDMA_WRITE_WITH_IMM
	};
	static const enum ibv_wr_opcode others[] = {
		IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, IBV_WR_ATOMIC_CMP_AND_SWP,
		IBV_WR_ATOMIC_FETCH_AND_ADD
	};

	if (credit_take(life, !i) || pick(rng, 200) == 0)
		return takers[pick(rng, 4)];
	return others[pick(rng, run.has_atomics ? 4 : 2)];
}

/* Sets the target of @wr at the peer. */
static void send_aim(struct ibv_send_wr *wr, const struct side *peer,
		     uint32_t *rng)
{
	uint32_t rkey = peer->mr->rkey;

	if (pick(rng, 3000) == 0)
		rkey ^= 0x100; /* invalid: the peer terminates the connection */
	if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	    wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->sg_list->length = 8;
		wr->wr.atomic.remote_addr = (uintptr_t)peer->buf;
		wr->wr.atomic.compare_add = pick(rng, 3);
		wr->wr.atomic.rkey = rkey;
		return;
	}
	wr->wr.rdma.remote_addr = (uintptr_t)peer->buf;
	wr->wr.rdma.rkey = rkey;
	if (wr->sg_list->length <= 32 && wr->opcode != IBV_WR_RDMA_READ &&
	    pick(rng, 2))
		wr->send_flags |= IBV_SEND_INLINE;
}

static void post_send(struct link *l, int i, uint32_t *rng)
{
	struct side *s = &l->side[i];
	struct work *work = &l->life->work[i][0];
	struct ibv_sge sge = { (uintptr_t)s->buf,
			       pick(rng, pick(rng, 4) ? 200 : BUF_LEN),
			       s->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	bool is_signaled;
	int rec = work_begin(work, DEPTH);

	if (rec < 0)
		return;
	wr.opcode = send_opcode(l->life, i, rng);
	/* A successful unsignalled request does not free its place, so use few
	 * of them. */
	is_signaled = pick(rng, 40) != 0;
	wr.send_flags = (is_signaled ? IBV_SEND_SIGNALED : 0) |
			(pick(rng, 4) ? 0 : IBV_SEND_SOLICITED) |
			(pick(rng, 8) ? 0 : IBV_SEND_FENCE);
	send_aim(&wr, &l->side[!i], rng);
	if (pick(rng, 3000) == 0)
		sge.lkey ^= 0x100;
	wr.wr_id = id_of(l->life_no, i, 0, (uint32_t)rec);
	work_expect(work, rec, is_signaled);
	MUST_QUIETLY(ibv_post_send(s->qp, &wr, &bad));
}

/* ---- what a thread does ---- */

static bool link_is_worn(struct link *l)
{
	if (atomic_load(&l->life->has_failed))
		return true;
	for (int i = 0; i < 2; i++)
		for (int kind = 0; kind < 2; kind++)
			if (atomic_load(&l->life->work[i][kind].next) >=
			    REC_CNT)
				return true;
	return false;
}

/* The thread has exclusive use of the link. */
static void link_change(struct link *l, uint32_t *rng)
{
	bool has_srq;

	if (!l->is_made) {
		link_make(l, rng);
		return;
	}
	if (!l->is_connected) {
		link_connect(l);
		return;
	}
	if (!link_is_worn(l) && pick(rng, 50))
		return;
	has_srq = l->side[0].srq || l->side[1].srq;
	switch (pick(rng, 8)) {
	case 0: /* disconnect in order first */
		qp_modify(l->side[pick(rng, 2)].qp, IBV_QPS_SQD);
		link_settle(l);
		break;
	case 1: /* posted work vanishes */
		atomic_fetch_add(&run.lost, 1);
		break;
	case 2: /* the memory is released before the work has completed */
		MUST(ibv_dereg_mr(l->side[0].mr) == 0);
		l->side[0].mr = NULL;
		link_settle(l);
		has_srq = true; /* not reset */
		break;
	default:
		link_settle(l);
		break;
	}
	if (!has_srq && pick(rng, 3))
		link_reset(l);
	else
		link_unmake(l);
}

static void link_work(struct link *l, uint32_t *rng)
{
	int i = (int)pick(rng, 2);
	struct side *s = &l->side[i];

	if (!l->is_made)
		return;
	switch (pick(rng, 8)) {
	case 0:
	case 1:
		post_recv(l, i);
		break;
	case 2:
	case 3:
	case 4:
		if (l->is_connected)
			post_send(l, i, rng);
		break;
	case 5:
		if (s->own.cq && !s->own.is_single)
			queue_resize(&s->own, rng);
		break;
	default:
		if (!s->scq->is_single)
			queue_poll(s->scq, 1 + pick(rng, 8));
		if (!s->rcq->is_single)
			queue_poll(s->rcq, 1 + pick(rng, 8));
		break;
	}
}

/* CQs without a lock may be used by one thread at a time. */
static void link_poll_single(struct link *l)
{
	for (int i = 0; l->is_made && i < 2; i++)
		if (l->side[i].own.cq && l->side[i].own.is_single)
			queue_poll(&l->side[i].own, 7);
}

static void object_play(struct world *w, uint32_t *rng)
{
	struct queue q = { .is_single = pick(rng, 2) };
	struct ibv_srq_init_attr srq = { .attr = { 4, 1, 0 } };
	struct ibv_srq *s;
	uint8_t buf[64];
	struct ibv_mr *mr;

	queue_open(&q, w, 1 + (int)pick(rng, 100), rng);
	if (q.cq->channel)
		MUST_QUIETLY(ibv_req_notify_cq(q.cq, 0));
	queue_resize(&q, rng);
	MUST(queue_poll(&q, 3) == 0);
	MUST(mr = ibv_reg_mr(w->pd, buf, sizeof(buf), 0));
	MUST(s = ibv_create_srq(w->pd, &srq));
	MUST(ibv_destroy_srq(s) == 0);
	MUST(ibv_dereg_mr(mr) == 0);
	queue_close(&q);
}

static void pool_play(struct queue *q, uint32_t *rng)
{
	switch (pick(rng, 10)) {
	case 0:
		queue_resize(q, rng);
		break;
	case 1:
	case 2:
		if (q->cq->channel)
			MUST_QUIETLY(
				ibv_req_notify_cq(q->cq, (int)pick(rng, 2)));
		break;
	default:
		queue_poll(q, 1 + pick(rng, 8));
		break;
	}
}

static void thread_turn(uint32_t *rng)
{
	struct link *l = &run.link[pick(rng, LINK_CNT)];
	struct world *w = &run.world[pick(rng, 2)];
	uint32_t what = pick(rng, 1000);

	if (what < 3) {
		object_play(w, rng);
	} else if (what < 100) {
		if (pthread_rwlock_trywrlock(&l->lock))
			return;
		link_poll_single(l);
		link_change(l, rng);
		pthread_rwlock_unlock(&l->lock);
	} else if (what < 800) {
		if (pthread_rwlock_tryrdlock(&l->lock))
			return;
		link_work(l, rng);
		pthread_rwlock_unlock(&l->lock);
	} else {
		pool_play(&w->pool[pick(rng, POOL_CNT)], rng);
	}
}

static void *thread_main(void *arg)
{
	uint32_t rng = run.seed * 2654435761u + (uint32_t)(uintptr_t)arg * 7919;

	rng |= 1;
	while (!atomic_load(&run.is_over))
		thread_turn(&rng);
	return NULL;
}

/* ---- the run ---- */

static void fd_unblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	MUST(flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0);
}

static void world_open(struct world *w, uint32_t *rng)
{
	int cnt;
	struct ibv_device **list = ibv_get_device_list(&cnt);
	struct ibv_device_attr device;

	MUST(list);
	for (int i = 0; i < cnt && !w->context; i++)
		if (strcmp(ibv_get_device_name(list[i]), "usiw_lo") == 0)
			w->context = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	MUST(w->context);
	MUST(ibv_query_device(w->context, &device) == 0);
	run.has_atomics = device.atomic_cap != IBV_ATOMIC_NONE;
	MUST(w->pd = ibv_alloc_pd(w->context));
	MUST(w->channel = ibv_create_comp_channel(w->context));
	fd_unblock(w->channel->fd);
	fd_unblock(w->context->async_fd);
	for (int i = 0; i < POOL_CNT; i++)
		queue_open(&w->pool[i], w, 16, rng);
	MUST(pthread_create(&w->comp_thread, NULL, comp_loop, w) == 0);
	MUST(pthread_create(&w->async_thread, NULL, async_loop, w) == 0);
}

static void world_close(struct world *w)
{
	for (int i = 0; i < POOL_CNT; i++) {
		queue_drain(&w->pool[i]);
		MUST(ibv_poll_cq(w->pool[i].cq, 1, &(struct ibv_wc){ 0 }) == 0);
		queue_close(&w->pool[i]);
	}
	MUST(ibv_destroy_comp_channel(w->channel) == 0);
	MUST(ibv_dealloc_pd(w->pd) == 0);
	MUST(ibv_close_device(w->context) == 0);
}

/* Waits for the completions of a queue. Return: the number expected. */
static uint32_t work_check(struct work *work)
{
	uint32_t expected = atomic_load(&work->expected);

	MUST(expected == atomic_load(&work->seen));
	for (uint32_t rec = 0; rec < REC_CNT; rec++)
		MUST(atomic_load(&work->rec[rec]) != REC_SIGNALED);
	return expected;
}

static void lives_check(void)
{
	uint64_t expected = 0, seen = 0;
	uint32_t settled = 0;

	for (uint32_t n = 0; n < atomic_load(&run.life_cnt); n++) {
		struct life *life = run.lives[n];

		for (int i = 0; life->is_settled && i < 2; i++) {
			expected += work_check(&life->work[i][0]);
			seen += atomic_load(&life->work[i][0].seen);
			if (life->has_srq[i])
				continue;
			expected += work_check(&life->work[i][1]);
			seen += atomic_load(&life->work[i][1].seen);
		}
		settled += life->is_settled;
		free(life);
	}
	printf("lives %u, settled %u: completions expected %llu, seen %llu\n",
	       atomic_load(&run.life_cnt), settled,
	       (unsigned long long)expected, (unsigned long long)seen);
	MUST(seen > 0);
}

static uint32_t env_number(const char *name, uint32_t fallback)
{
	const char *text = getenv(name);

	return text ? (uint32_t)strtoul(text, NULL, 0) : fallback;
}

static void links_open(void)
{
	for (int n = 0; n < LINK_CNT; n++) {
		pthread_rwlock_init(&run.link[n].lock, NULL);
		for (int i = 0; i < 2; i++) {
			run.link[n].side[i].buf = calloc(1, BUF_LEN);
			MUST(run.link[n].side[i].buf);
		}
	}
}

static void links_close(void)
{
	for (int n = 0; n < LINK_CNT; n++) {
		struct link *l = &run.link[n];

		if (l->is_made) {
			link_settle(l);
			link_unmake(l);
		}
		pthread_rwlock_destroy(&l->lock);
		for (int i = 0; i < 2; i++)
			free(l->side[i].buf);
	}
}

int main(void)
{
	pthread_t threads[THREAD_CNT];
	uint32_t rng;

	run.seed = env_number("USIW_STRESS_SEED", (uint32_t)time(NULL));
	run.seconds = env_number("USIW_STRESS_SECONDS", 5);
	printf("seed %u, %d threads, %u s\n", run.seed, THREAD_CNT,
	       run.seconds);
	fflush(stdout);
	rng = run.seed | 1;
	links_open();
	for (int i = 0; i < 2; i++)
		world_open(&run.world[i], &rng);
	for (uintptr_t i = 0; i < THREAD_CNT; i++)
		MUST(pthread_create(&threads[i], NULL, thread_main,
				    (void *)(i + 1)) == 0);
	sleep(run.seconds);
	atomic_store(&run.is_over, true);
	for (int i = 0; i < THREAD_CNT; i++)
		pthread_join(threads[i], NULL);
	links_close();
	atomic_store(&run.is_quiet, true);
	for (int i = 0; i < 2; i++) {
		pthread_join(run.world[i].comp_thread, NULL);
		pthread_join(run.world[i].async_thread, NULL);
		world_close(&run.world[i]);
	}
	printf("posted %u, completions %u (%u in error), connects %u, "
	       "resets %u, resizes %u, events %u + %u\n",
	       run.posted, run.polled, run.failed, run.connects, run.resets,
	       run.resizes, run.comp_events, run.async_events);
	lives_check();
	return 0;
}
