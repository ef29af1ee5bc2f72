/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* For usiw check: a UD queue pair that sends to itself.  Persona ca only. */
#include "check_pair.h"

#define QKEY 0x11111111
#define GRH_LEN 40

static struct ibv_ah *ah;

static void move(enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr attr = { .qp_state = state,
				    .port_num = 1,
				    .qkey = QKEY };

	NEEDS(!ibv_modify_qp(qp[0], &attr, IBV_QP_STATE | mask));
}

static void ud_make(void)
{
	const struct want want = WANT_USUAL;
	struct ibv_ah_attr to = {
		.is_global = 1,
		.grh = { .dgid = gid, .hop_limit = 1 },
		.port_num = 1,
	};
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UD,
	};

	pair_make(&want);
	for (int i = 0; i < 2; i++)
		NEEDS(!ibv_destroy_qp(qp[i]));
	attr.send_cq = attr.recv_cq = cq;
	qp[0] = ibv_create_qp(pd, &attr);
	qp[1] = NULL;
	NEEDS(qp[0]);
	move(IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	move(IBV_QPS_RTR, 0);
	move(IBV_QPS_RTS, IBV_QP_SQ_PSN);
	ah = ibv_create_ah(pd, &to);
	NEEDS(ah);
}

static void ud_send(unsigned int flags)
{
	struct ibv_sge sge = { (uintptr_t)buf, 64, mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = flags,
		.wr.ud = { ah, qp[0]->qp_num, QKEY },
	}, *bad;

	NEEDS(!ibv_post_send(qp[0], &wr, &bad));
}

/* The datagram that comes says that it was sent. */
void datagram_changed(void)
{
	struct ibv_recv_wr wr = { .num_sge = 1 }, *bad;
	struct ibv_sge sge;

	ud_make();
	sge = (struct ibv_sge){ (uintptr_t)buf + LEN, GRH_LEN + 64, mr->lkey };
	wr.sg_list = &sge;
	NEEDS(!ibv_post_recv(qp[0], &wr, &bad));
	ud_send(0);
	wcs_wait(1);
	buf[17]++;
	ud_send(IBV_SEND_SIGNALED);
	wcs_wait(1);
	NEEDS(!ibv_destroy_ah(ah));
}

/* Nothing says so; there is no receive. */
void datagram_unacked(void)
{
	ud_make();
	ud_send(0);
	buf[17]++;
	ud_send(IBV_SEND_SIGNALED);
	wcs_wait(1);
	NEEDS(!ibv_destroy_ah(ah));
}
