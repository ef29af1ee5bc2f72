/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A program with many queue pairs, for stat_test.py and top_test.py: makes as
 * many as it is told, posts three receives to the first one, prints the number
 * of that one, and waits until its standard input ends.  "fork": a child makes
 * one more of its own, and prints its process ID and the number.  "exec", and a
 * command line: executes it when there is input.
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECVS 3

static void must(int holds, const char *what)
{
	if (holds)
		return;
	perror(what);
	exit(1);
}

static struct ibv_context *lo_open(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	must(list != NULL, "ibv_get_device_list");
	for (int i = 0; list[i]; i++)
		if (strcmp(ibv_get_device_name(list[i]), "usiw_lo") == 0)
			ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	must(ctx != NULL, "ibv_open_device");
	return ctx;
}

static struct ibv_qp *qp_make(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = { .send_cq = cq,
					 .recv_cq = cq,
					 .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 2,
						  .max_recv_wr = 8,
						  .max_send_sge = 1,
						  .max_recv_sge = 1 } };
	struct ibv_qp *qp = ibv_create_qp(pd, &init);

	must(qp != NULL, "ibv_create_qp");
	return qp;
}

static void receives_post(struct ibv_qp *qp, struct ibv_mr *mr)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_sge sge = { .addr = (uintptr_t)mr->addr,
			       .length = 16,
			       .lkey = mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	must(!ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				    IBV_QP_ACCESS_FLAGS),
	     "ibv_modify_qp");
	for (int i = 0; i < RECVS; i++)
		must(!ibv_post_recv(qp, &wr, &bad), "ibv_post_recv");
}

/* Makes @cnt queue pairs. Return: the number of the first; 0: none. */
static uint32_t resources_make(struct ibv_context *ctx, int cnt)
{
	static char buf[4096];
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 100, NULL, channel, 0);
	struct ibv_qp *first = NULL;
	struct ibv_mr *mr;

	must(pd && channel && cq, "ibv_create_cq");
	mr = ibv_reg_mr(pd, buf, sizeof(buf),
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	must(mr != NULL, "ibv_reg_mr");
	must(!ibv_req_notify_cq(cq, 0), "ibv_req_notify_cq");
	for (int i = 0; i < cnt; i++) {
		struct ibv_qp *qp = qp_make(pd, cq);

		if (!first)
			first = qp;
	}
	if (first)
		receives_post(first, mr);
	return first ? first->qp_num : 0;
}

int main(int argc, char **argv)
{
	struct ibv_context *ctx = lo_open();
	int cnt = argc > 1 ? atoi(argv[1]) : 1;
	char octet;

	printf("%u\n", resources_make(ctx, cnt));
	fflush(stdout);
	/* The child goes on with the context, and has resources of its own. */
	if (argc > 2 && strcmp(argv[2], "fork") == 0 && fork() == 0) {
		printf("%d %u\n", (int)getpid(), resources_make(ctx, cnt + 1));
		fflush(stdout);
	}
	while (read(STDIN_FILENO, &octet, 1) > 0)
		if (argc > 3 && strcmp(argv[2], "exec") == 0)
			must(execvp(argv[3], argv + 3) == 0, argv[3]);
	return 0;
}
