/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Registered memory becomes inaccessible, with stock libibverbs and librdmacm.
 * One side learns this by an asynchronous event or a completion, the other by
 * its completions. Neither gets a signal, and the next connection works. Runs
 * alone under `usiw run`, and connects to itself.
 *
 * usage: apps-gone [handler | blocked]
 *	handler: with handlers of the program's own, which must see its own
 *		faults and no others
 *	blocked: the same in a thread that has blocked all signals before
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE ((size_t)4096)
#define AREA ((size_t)2 << 20)
#define LIMIT_MS 10000

/* Far from other mappings, so that unmapped memory is not mapped again. */
#define PLACE ((void *)0x7e9000000000)

static const char *doing = "starting";

#define NEEDS(what)                                                            \
	do {                                                                   \
		if (!(what)) {                                                 \
			printf("line %d: %s: %s: %s\n", __LINE__, doing,       \
			       #what, strerror(errno));                        \
			exit(1);                                               \
		}                                                              \
	} while (0)

enum kind { UNMAPPED, NO_ACCESS, TRUNCATED, KIND_CNT };
enum how { NORMAL, ON_DEMAND, IMPLICIT, HOW_CNT };
enum role {
	WRITE_TO,
	READ_FROM,
	READ_INTO,
	SEND_FROM,
	SEND_INTO,
	ATOMIC_ON,
	ROLE_CNT
};

static const char *const kind_names[] = { "unmapped", "PROT_NONE",
					  "truncated" };
static const char *const how_names[] = { "normal", "on demand", "implicit" };
static const char *const role_names[] = { "WRITE to it",  "READ from it",
					  "READ into it", "SEND from it",
					  "SEND into it", "atomic on it" };
static const uint32_t lens[] = { 64, 9000, 1500000 };

struct row {
	enum kind kind;
	enum how how;
	enum role role;
	uint32_t len;
};

/* ---- the program's own faults ---- */

static sigjmp_buf own_jump;
static void *volatile own_addr;
static volatile unsigned int own_cnt;

static void own_handler(int sig, siginfo_t *info, void *uc)
{
	(void)sig;
	(void)uc;
	own_addr = info->si_addr;
	own_cnt++;
	siglongjmp(own_jump, 1);
}

static void own_install(void)
{
	struct sigaction act = { .sa_sigaction = own_handler,
				 .sa_flags = SA_SIGINFO };
	struct sigaction now;

	NEEDS(sigaction(SIGSEGV, &act, NULL) == 0);
	NEEDS(sigaction(SIGBUS, &act, NULL) == 0);
	NEEDS(sigaction(SIGBUS, NULL, &now) == 0);
	NEEDS(now.sa_sigaction == own_handler);
}

static void own_fault(uint8_t *gone)
{
	unsigned int before = own_cnt;

	if (sigsetjmp(own_jump, 1) == 0)
		*(volatile uint8_t *)(gone + 5) = 1;
	NEEDS(own_cnt == before + 1);
	NEEDS(own_addr == gone + 5);
}

/* ---- a connection to ourselves ---- */

struct pair {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener, *active, *passive;
	struct ibv_pd *pd;
	struct ibv_cq *cq[2]; /* of the active and the passive side */
	struct ibv_mr *mr;
	uint8_t *buf;
};

static struct rdma_cm_id *expect(struct pair *p, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	/* The end of the previous connection may come at any time. */
	do {
		NEEDS(rdma_get_cm_event(p->channel, &event) == 0);
		id = event->id;
		if (event->event == type) {
			NEEDS(rdma_ack_cm_event(event) == 0);
			return id;
		}
		NEEDS(event->event == RDMA_CM_EVENT_DISCONNECTED);
		NEEDS(rdma_ack_cm_event(event) == 0);
	} while (1);
}

static void pair_qp(struct pair *p, int side, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = p->cq[side],
		.recv_cq = p->cq[side],
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 8,
			 .max_recv_wr = 8,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	NEEDS(rdma_create_qp(id, p->pd, &attr) == 0);
}

static void pair_listen(struct pair *p)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	p->channel = rdma_create_event_channel();
	NEEDS(p->channel);
	NEEDS(!rdma_create_id(p->channel, &p->listener, NULL, RDMA_PS_TCP));
	NEEDS(!rdma_bind_addr(p->listener, (struct sockaddr *)&addr));
	NEEDS(!rdma_listen(p->listener, 4));
	p->pd = ibv_alloc_pd(p->listener->verbs);
	NEEDS(p->pd);
	for (int i = 0; i < 2; i++) {
		p->cq[i] = ibv_create_cq(p->listener->verbs, 64, NULL, NULL, 0);
		NEEDS(p->cq[i]);
	}
	p->buf = mmap(NULL, AREA, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEEDS(p->buf != MAP_FAILED);
	p->mr = ibv_reg_mr(p->pd, p->buf, AREA,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ);
	NEEDS(p->mr);
}

static void pair_connect(struct pair *p)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct rdma_conn_param param = { .responder_resources = 4,
					 .initiator_depth = 4 };

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	addr.sin_port = rdma_get_src_port(p->listener);
	NEEDS(!rdma_create_id(p->channel, &p->active, NULL, RDMA_PS_TCP));
	NEEDS(!rdma_resolve_addr(p->active, NULL, (struct sockaddr *)&addr,
				 2000));
	expect(p, RDMA_CM_EVENT_ADDR_RESOLVED);
	NEEDS(!rdma_resolve_route(p->active, 2000));
	expect(p, RDMA_CM_EVENT_ROUTE_RESOLVED);
	pair_qp(p, 0, p->active);
	NEEDS(!rdma_connect(p->active, &param));
	p->passive = expect(p, RDMA_CM_EVENT_CONNECT_REQUEST);
	pair_qp(p, 1, p->passive);
	NEEDS(!rdma_accept(p->passive, &param));
	expect(p, RDMA_CM_EVENT_ESTABLISHED);
	expect(p, RDMA_CM_EVENT_ESTABLISHED);
}

static void pair_disconnect(struct pair *p)
{
	rdma_destroy_qp(p->active);
	rdma_destroy_qp(p->passive);
	NEEDS(rdma_destroy_id(p->active) == 0);
	NEEDS(rdma_destroy_id(p->passive) == 0);
}

/* ---- memory that goes ---- */

struct area {
	uint8_t *mem;
	int fd;
	struct ibv_mr *mr;
};

static void area_open(struct area *a, struct pair *p, enum how how)
{
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

	a->fd = memfd_create("gone", MFD_CLOEXEC);
	NEEDS(a->fd >= 0 && ftruncate(a->fd, (off_t)AREA) == 0);
	a->mem =
		mmap(PLACE, AREA, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd, 0);
	NEEDS(a->mem != MAP_FAILED);
	if (how == NORMAL)
		a->mr = ibv_reg_mr(p->pd, a->mem, AREA, access);
	else if (how == ON_DEMAND)
		a->mr = ibv_reg_mr(p->pd, a->mem, AREA,
				   access | IBV_ACCESS_ON_DEMAND);
	else
		a->mr = ibv_reg_mr(p->pd, NULL, SIZE_MAX,
				   access | IBV_ACCESS_ON_DEMAND);
	NEEDS(a->mr);
}

/* Return: the first inaccessible page. */
static uint8_t *area_lose(struct area *a, enum kind kind, uint32_t len)
{
	size_t from = len / 2 / PAGE * PAGE;
	int ret;

	if (kind == UNMAPPED)
		ret = munmap(a->mem + from, AREA - from);
	else if (kind == NO_ACCESS)
		ret = mprotect(a->mem + from, AREA - from, PROT_NONE);
	else
		ret = ftruncate(a->fd, (off_t)from);
	NEEDS(ret == 0);
	return a->mem + from;
}

static void area_close(struct area *a)
{
	NEEDS(ibv_dereg_mr(a->mr) == 0);
	munmap(a->mem, AREA);
	close(a->fd);
}

/* ---- work ---- */

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static struct ibv_wc wc_take(struct pair *p, int side)
{
	uint64_t end_ms = now_ms() + LIMIT_MS;
	struct ibv_wc wc = { 0 };
	int cnt;

	do {
		cnt = ibv_poll_cq(p->cq[side], 1, &wc);
		NEEDS(cnt >= 0 && now_ms() < end_ms);
	} while (cnt == 0);
	return wc;
}

static void recv_post(struct pair *p, uint64_t wr_id, void *addr, uint32_t lkey)
{
	struct ibv_sge sge = { (uintptr_t)addr, AREA, lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id,
				  .sg_list = &sge,
				  .num_sge = 1 };
	struct ibv_recv_wr *bad;

	NEEDS(ibv_post_recv(p->passive->qp, &wr, &bad) == 0);
}

static void send_post(struct pair *p, const struct row *row,
		      const struct area *a, const uint8_t *gone)
{
	bool is_local = row->role == SEND_FROM || row->role == READ_INTO;
	struct ibv_sge sge = {
		(uintptr_t)(is_local ? a->mem : p->buf),
		row->len,
		is_local ? a->mr->lkey : p->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = 1,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_send_wr *bad;

	if (row->role == WRITE_TO)
		wr.opcode = IBV_WR_RDMA_WRITE;
	else if (row->role == READ_FROM || row->role == READ_INTO)
		wr.opcode = IBV_WR_RDMA_READ;
	wr.wr.rdma.remote_addr =
		(uintptr_t)(row->role == READ_INTO ? p->buf : a->mem);
	wr.wr.rdma.rkey = row->role == READ_INTO ? p->mr->rkey : a->mr->rkey;
	if (row->role == ATOMIC_ON) {
		sge.length = 8;
		wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr.wr.atomic.remote_addr = (uintptr_t)gone;
		wr.wr.atomic.rkey = a->mr->rkey;
		wr.wr.atomic.compare_add = 1;
	}
	NEEDS(ibv_post_send(p->active->qp, &wr, &bad) == 0);
}

/* The next event of this QP. The completion threads deliver it too. */
static enum ibv_event_type event_take(struct pair *p, const struct ibv_qp *qp)
{
	struct ibv_context *context = p->listener->verbs;
	struct pollfd fd = { .fd = context->async_fd, .events = POLLIN };
	struct ibv_async_event event;
	struct ibv_qp *whose;

	do {
		NEEDS(poll(&fd, 1, LIMIT_MS) == 1);
		NEEDS(ibv_get_async_event(context, &event) == 0);
		whose = event.element.qp;
		ibv_ack_async_event(&event);
	} while (whose != qp);
	return event.event_type;
}

static void row_expect(struct pair *p, const struct row *row)
{
	struct ibv_wc wc;

	switch (row->role) {
	case WRITE_TO:
		wc = wc_take(p, 0);
		/* done when TCP has accepted it, or ended by the TERMINATE */
		NEEDS(wc.status == IBV_WC_SUCCESS ||
		      wc.status == IBV_WC_REM_ACCESS_ERR);
		NEEDS(event_take(p, p->passive->qp) == IBV_EVENT_QP_ACCESS_ERR);
		break;
	case READ_FROM:
	case ATOMIC_ON:
		wc = wc_take(p, 0);
		NEEDS(wc.status == IBV_WC_REM_ACCESS_ERR);
		NEEDS(event_take(p, p->passive->qp) == IBV_EVENT_QP_ACCESS_ERR);
		break;
	case READ_INTO:
		wc = wc_take(p, 0);
		NEEDS(wc.status == IBV_WC_LOC_PROT_ERR);
		NEEDS(event_take(p, p->active->qp) == IBV_EVENT_QP_FATAL);
		break;
	case SEND_FROM:
		wc = wc_take(p, 0);
		NEEDS(wc.status == IBV_WC_LOC_PROT_ERR);
		NEEDS(event_take(p, p->active->qp) == IBV_EVENT_QP_REQ_ERR);
		break;
	case SEND_INTO:
	case ROLE_CNT:
		wc = wc_take(p, 1);
		NEEDS(wc.wr_id == 11 && wc.status == IBV_WC_LOC_PROT_ERR);
		NEEDS(event_take(p, p->passive->qp) == IBV_EVENT_QP_REQ_ERR);
		wc = wc_take(p, 0);
		break;
	}
	/* Remaining work completes, once. */
	for (int i = row->role == SEND_INTO ? 12 : 11; i <= 12; i++) {
		wc = wc_take(p, 1);
		NEEDS(wc.wr_id == (uint64_t)i);
		NEEDS(wc.status == IBV_WC_WR_FLUSH_ERR);
	}
}

static void row_run(struct pair *p, const struct row *row, bool has_handler)
{
	static char text[128];
	struct area a;
	uint8_t *gone;

	snprintf(text, sizeof(text), "%s, %s, %s, %u octets",
		 role_names[row->role], kind_names[row->kind],
		 how_names[row->how], row->len);
	doing = text;
	pair_connect(p);
	area_open(&a, p, row->how);
	if (row->role == SEND_INTO)
		recv_post(p, 11, a.mem, a.mr->lkey);
	else
		recv_post(p, 11, p->buf, p->mr->lkey);
	recv_post(p, 12, p->buf, p->mr->lkey);
	gone = area_lose(&a, row->kind, row->len);
	send_post(p, row, &a, gone);
	row_expect(p, row);
	if (has_handler)
		own_fault(gone);
	pair_disconnect(p);
	area_close(&a);
}

int main(int argc, char **argv)
{
	bool is_blocked = argc > 1 && strcmp(argv[1], "blocked") == 0;
	bool has_handler = argc > 1;
	unsigned int cnt = 0;
	struct pair p = { 0 };
	struct row row;
	sigset_t all;

	if (is_blocked) {
		sigfillset(&all);
		NEEDS(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
	}
	pair_listen(&p);
	if (has_handler)
		own_install();
	for (row.role = 0; row.role < ROLE_CNT; row.role++)
		for (row.kind = 0; row.kind < KIND_CNT; row.kind++)
			for (size_t i = 0; i < 3; i++) {
				row.len = lens[i];
				row.how = (enum how)((i + row.kind) % HOW_CNT);
				row_run(&p, &row, has_handler);
				cnt++;
			}
	if (has_handler)
		NEEDS(own_cnt == cnt);
	printf("%u connections, all as expected\n", cnt);
	return 0;
}
