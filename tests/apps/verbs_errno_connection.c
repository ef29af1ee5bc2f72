/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Wrong arguments to the verbs of a connected QP: posting, changing its state,
 * after fork(), and after the end of the connection.
 */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop.h"
#include "verbs_errno.h"

#define AREA 65536u

/* On the context that librdmacm opened. */
static struct loop l;
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_cq *cq;
static char *buf;

static void connection_open(void)
{
	struct ibv_qp_init_attr_ex ex = { 0 };
	struct ibv_qp_init_attr attr;

	loop_open(&l);
	context = l.active->verbs;
	buf = calloc(1, AREA);
	NEEDS(buf);
	NEEDS((pd = ibv_alloc_pd(context)));
	NEEDS((mr = ibv_reg_mr(pd, buf, AREA,
			       IBV_ACCESS_LOCAL_WRITE |
				       IBV_ACCESS_REMOTE_WRITE |
				       IBV_ACCESS_REMOTE_READ)));
	NEEDS((cq = ibv_create_cq(context, 128, NULL, NULL, 0)));
	attr = qp_attr(cq);
	memcpy(&ex, &attr, sizeof(attr));
	ex.comp_mask = IBV_QP_INIT_ATTR_PD;
	ex.pd = pd;
	loop_connect(&l, &ex);
	/* librdmacm has called verbs, too, whose lines are not looked at */
	HOLDS(l.active->qp != NULL);
}

static void connection_close(void)
{
	loop_close(&l);
	GIVES(destroy_cq, 0, ibv_destroy_cq(cq));
	GIVES(dereg_mr, 0, ibv_dereg_mr(mr));
	GIVES(dealloc_pd, 0, ibv_dealloc_pd(pd));
	free(buf);
}

static void posting(void)
{
	struct ibv_qp *qp = l.active->qp;
	struct ibv_sge sge[33] = { { (uintptr_t)buf, 64, mr->lkey } };
	struct ibv_send_wr wr = { .sg_list = sge, .num_sge = 1 }, second, *bad;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_wc wc;

#define REFUSED(want)                                                          \
	do {                                                                   \
		bad = NULL;                                                    \
		GIVES(post_send, want, ibv_post_send(qp, &wr, &bad));          \
		HOLDS(bad == &wr);                                             \
	} while (0)
	GIVES(query_qp, 0, ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
	HOLDS(attr.qp_state == IBV_QPS_RTS);
	wr.opcode = (enum ibv_wr_opcode)99;
	REFUSED(EINVAL);
	wr.opcode = IBV_WR_TSO;
	REFUSED(EOPNOTSUPP);
	wr.opcode = IBV_WR_SEND;
	wr.num_sge = (int)init.cap.max_send_sge + 1;
	REFUSED(EINVAL);
	wr.num_sge = -1;
	REFUSED(EINVAL);
	wr.num_sge = 2;
	sge[0].length = sge[1].length = UINT32_MAX;
	REFUSED(EINVAL);
	wr.num_sge = 1;
	sge[0].length = init.cap.max_inline_data + 1;
	wr.send_flags = IBV_SEND_INLINE;
	REFUSED(EINVAL);
	wr.send_flags = 1u << 31;
	REFUSED(EINVAL);
	wr.send_flags = IBV_SEND_INLINE;
	wr.opcode = IBV_WR_RDMA_READ;
	REFUSED(EINVAL);
#undef REFUSED
	/* a valid request before an invalid one is sent */
	sge[0].length = 64;
	wr = (struct ibv_send_wr){
		.wr_id = 7,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)buf + 4096, mr->rkey },
		.next = &second,
	};
	second = wr;
	second.next = NULL;
	second.num_sge = -1;
	GIVES(post_send, EINVAL, ibv_post_send(qp, &wr, &bad));
	HOLDS(bad == &second);
	loop_wc(cq, &wc);
	HOLDS(wc.status == IBV_WC_SUCCESS && wc.wr_id == 7);
	GIVES(poll_cq, 0, ibv_poll_cq(cq, 1, &wc));
}

/* A list longer than the queue: the first ones that fit are posted, then
 * ENOMEM. */
static void full_queue(void)
{
	struct ibv_qp *qp = l.active->qp;
	struct ibv_qp_init_attr init;
	struct ibv_send_wr *wr, *bad = NULL;
	struct ibv_qp_attr attr;
	struct ibv_wc wc;
	uint32_t depth, i;

	GIVES(query_qp, 0, ibv_query_qp(qp, &attr, IBV_QP_CAP, &init));
	depth = init.cap.max_send_wr;
	wr = calloc(depth + 1, sizeof(*wr));
	NEEDS(wr);
	for (i = 0; i <= depth; i++)
		wr[i] = (struct ibv_send_wr){
			.wr_id = i,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = { (uintptr_t)buf, mr->rkey },
			.next = i < depth ? &wr[i + 1] : NULL,
		};
	GIVES(post_send, ENOMEM, ibv_post_send(qp, wr, &bad));
	HOLDS(bad == &wr[depth]);
	for (i = 0; i < depth; i++) {
		loop_wc(cq, &wc);
		HOLDS(wc.status == IBV_WC_SUCCESS && wc.wr_id == i);
	}
	GIVES(poll_cq, 0, ibv_poll_cq(cq, 1, &wc));
	free(wr);
}

static void states(void)
{
	struct ibv_qp *qp = l.active->qp;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	attr.qp_state = IBV_QPS_INIT;
	GIVES(modify_qp, EINVAL, ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTR;
	GIVES(modify_qp, EINVAL, ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	attr.cur_qp_state = IBV_QPS_INIT;
	GIVES(modify_qp, EINVAL,
	      ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE));
	GIVES(query_qp, 0, ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
	HOLDS(attr.qp_state == IBV_QPS_RTS);
}

/* The child's context and PD work like new ones. Objects made on them return
 * ENODEV, and no call hangs. */
static int child_checks(void)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_recv_wr recv = { 0 }, *bad_recv;
	struct ibv_device_attr dev;
	struct ibv_mr *own_mr;
	struct ibv_pd *own_pd;
	struct ibv_cq *own_cq;
	struct ibv_wc wc;

	HOLDS(ibv_query_device(context, &dev) == 0);
	own_pd = ibv_alloc_pd(context);
	own_mr = ibv_reg_mr(pd, buf, 64, 0);
	own_cq = ibv_create_cq(context, 4, NULL, NULL, 0);
	NEEDS(own_pd && own_mr && own_cq);
	GIVES(dealloc_pd, EBUSY, ibv_dealloc_pd(pd));
	GIVES(dereg_mr, 0, ibv_dereg_mr(own_mr));
	GIVES(destroy_cq, 0, ibv_destroy_cq(own_cq));
	GIVES(dealloc_pd, 0, ibv_dealloc_pd(own_pd));
	GIVES(post_send, ENODEV, ibv_post_send(l.active->qp, &send, &bad_send));
	GIVES(post_recv, ENODEV, ibv_post_recv(l.active->qp, &recv, &bad_recv));
	HOLDS(ibv_poll_cq(cq, 1, &wc) < 0);
	GIVES(req_notify_cq, ENODEV, ibv_req_notify_cq(cq, 0));
	GIVES(destroy_qp, 0, ibv_destroy_qp(l.active->qp));
	GIVES(destroy_cq, 0, ibv_destroy_cq(cq));
	GIVES(dereg_mr, 0, ibv_dereg_mr(mr));
	GIVES(dealloc_pd, 0, ibv_dealloc_pd(pd));
	fflush(stdout);
	return failure_cnt ? 1 : 0;
}

static void forked(const char *device)
{
	struct ibv_context *other = device_open(device);
	int status, async_fd = other->async_fd;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	NEEDS(pid >= 0);
	if (pid == 0) {
		failure_cnt = 0; /* the parent counts separately */
		/* closing an inherited context leaks no descriptor */
		HOLDS(ibv_close_device(other) == 0);
		HOLDS(fcntl(async_fd, F_GETFD) == -1);
		_exit(child_checks());
	}
	NEEDS(waitpid(pid, &status, 0) == pid);
	HOLDS(status == 0);
	HOLDS(fcntl(async_fd, F_GETFD) != -1);
	HOLDS(ibv_close_device(other) == 0);
	HOLDS(fcntl(async_fd, F_GETFD) == -1);
}

static void flushed(void)
{
	struct ibv_recv_wr recv = { .wr_id = 21 }, *bad_recv;
	struct ibv_send_wr send = { .wr_id = 22, .opcode = IBV_WR_SEND };
	struct ibv_send_wr *bad_send;
	struct ibv_wc wc;

	HOLDS(rdma_disconnect(l.active) == 0);
	loop_expect(&l, RDMA_CM_EVENT_DISCONNECTED);
	loop_expect(&l, RDMA_CM_EVENT_DISCONNECTED);
	/* too late on the other side, which is not an error either */
	HOLDS(rdma_disconnect(l.passive) == 0);
	GIVES(post_recv, 0, ibv_post_recv(l.active->qp, &recv, &bad_recv));
	GIVES(post_send, 0, ibv_post_send(l.active->qp, &send, &bad_send));
	for (int i = 0; i < 2; i++) {
		loop_wc(cq, &wc);
		HOLDS(wc.status == IBV_WC_WR_FLUSH_ERR);
		HOLDS(wc.wr_id == 21 || wc.wr_id == 22);
		HOLDS(wc.qp_num == l.active->qp->qp_num);
	}
}

void check_connection(const char *device)
{
	connection_open();
	posting();
	full_queue();
	states();
	forked(device);
	flushed();
	connection_close();
}
