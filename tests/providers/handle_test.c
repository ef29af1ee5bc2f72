/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Objects that a kernel would not know: verbs of the control path refuse them
 * with ENOENT and touch nothing. */
#include "test.h"

#include <pthread.h>

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake-rnic.h"

static char buf[4096];

/* ---- the table ---- */

CASE(objects_are_found_until_removed)
{
	static struct usiw_handle handles[10000];
	static uint32_t shown[ARRAY_LEN(handles)];

	for (uint32_t i = 0; i < ARRAY_LEN(handles); i++) {
		shown[i] = i;
		usiw_handle_add(&handles[i], &shown[i]);
	}
	for (uint32_t i = 0; i < ARRAY_LEN(handles); i += 2)
		usiw_handle_remove(&handles[i]);
	for (uint32_t i = 0; i < ARRAY_LEN(handles); i++)
		if (i % 2 || i < 10)
			assert_int_equal(usiw_handle_check(&handles[i], "test"),
					 i % 2 ? 0 : -ENOENT);
	shown[1] = 7;
	assert_int_equal(usiw_handle_check(&handles[1], "test"), -ENOENT);
	usiw_handle_renumber(&handles[1]);
	assert_int_equal(usiw_handle_check(&handles[1], "test"), 0);
	for (uint32_t i = 1; i < ARRAY_LEN(handles); i += 2)
		usiw_handle_remove(&handles[i]);
}

static _Atomic bool is_over;

static void *add_and_remove(void *arg)
{
	struct usiw_handle handle;

	while (!atomic_load(&is_over)) {
		usiw_handle_add(&handle, NULL);
		usiw_handle_remove(&handle);
	}
	return arg;
}

CASE(a_child_waits_for_no_thread_of_its_parent)
{
	struct usiw_handle mine;
	pthread_t thread;
	int status;

	usiw_handle_add(&mine, NULL);
	assert_int_equal(pthread_create(&thread, NULL, add_and_remove, NULL),
			 0);
	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(usiw_handle_check(&mine, "test") ? 1 : 0);
		assert_true(pid > 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	atomic_store(&is_over, true);
	pthread_join(thread, NULL);
	usiw_handle_remove(&mine);
}

/* ---- verbs ---- */

/* The result that a call gives while the handle is another one. */
#define ALTERED(handle, call)                                                  \
	do {                                                                   \
		(handle) ^= 1u << 20;                                          \
		errno = 0;                                                     \
		assert_true(call);                                             \
		assert_int_equal(errno, ENOENT);                               \
		(handle) ^= 1u << 20;                                          \
	} while (0)

FAKE_CASE(altered_queues_are_refused)
{
	struct fake_world *w = *state;
	struct ibv_qp_init_attr init, attr = fake_qp_attr(w);
	struct ibv_srq_attr srq_attr = { .max_wr = 4 };
	struct ibv_qp_attr qp_attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp *qp = w->qp;
	uint32_t open_cnt = fake.open_cnt;

	ALTERED(w->cq->handle, ibv_resize_cq(w->cq, 4) == ENOENT);
	ALTERED(w->cq->handle, ibv_req_notify_cq(w->cq, 0) == ENOENT);
	ALTERED(w->cq->handle, ibv_destroy_cq(w->cq) == ENOENT);
	ALTERED(w->cq->handle, !ibv_create_qp(w->pd, &attr));
	attr.srq = w->srq;
	ALTERED(w->srq->handle, !ibv_create_qp(w->pd, &attr));
	ALTERED(w->srq->handle,
		ibv_modify_srq(w->srq, &srq_attr, IBV_SRQ_MAX_WR) == ENOENT);
	ALTERED(w->srq->handle, ibv_query_srq(w->srq, &srq_attr) == ENOENT);
	ALTERED(w->srq->handle, ibv_destroy_srq(w->srq) == ENOENT);
	ALTERED(qp->handle,
		ibv_modify_qp(qp, &qp_attr, IBV_QP_STATE) == ENOENT);
	ALTERED(qp->handle, ibv_query_qp(qp, &qp_attr, 0, &init) == ENOENT);
	ALTERED(qp->handle, ibv_destroy_qp(qp) == ENOENT);
	assert_int_equal(fake.open_cnt, open_cnt);
	assert_int_equal(fake.move_cnt, 0);
}

FAKE_CASE(altered_memory_is_refused)
{
	struct fake_world *w = *state;
	struct ibv_alloc_dm_attr dm_attr = { .length = 64 };
	struct ibv_mr *mr = ibv_reg_mr(w->pd, buf, sizeof(buf), 0);
	struct ibv_dm *dm = ibv_alloc_dm(w->context, &dm_attr);
	struct ibv_mw *mw = ibv_alloc_mw(w->pd, IBV_MW_TYPE_1);
	uint32_t open_cnt = fake.open_cnt;

	assert_true(mr && dm && mw);
	ALTERED(mr->handle, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
					 NULL, 0, 0) != 0);
	ALTERED(mr->handle, ibv_dereg_mr(mr) == ENOENT);
	ALTERED(dm->handle,
		!ibv_reg_dm_mr(w->pd, dm, 0, 64, IBV_ACCESS_ZERO_BASED));
	ALTERED(dm->handle, ibv_free_dm(dm) == ENOENT);
	ALTERED(mw->handle, ibv_dealloc_mw(mw) == ENOENT);
	ALTERED(w->pd->handle, !ibv_reg_mr(w->pd, buf, sizeof(buf), 0));
	ALTERED(w->pd->handle, !ibv_alloc_mw(w->pd, IBV_MW_TYPE_1));
	ALTERED(w->pd->handle, ibv_dealloc_pd(w->pd) == ENOENT);
	assert_int_equal(fake.open_cnt, open_cnt);
	/* With another STag it shows another handle. */
	fake.mr_key++;
	assert_int_equal(
		ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
		0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_mw(mw), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
}

/* As the provider sees it: libibverbs itself reads the object before. */
FAKE_CASE(what_was_destroyed_is_not_touched)
{
	struct fake_world *w = *state;
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 3 } };
	struct ibv_td_init_attr td_attr = { 0 };
	struct ibv_qp_init_attr attr = fake_qp_attr(w);
	struct ibv_qp_attr qp_attr = { 0 };
	union ibv_gid gid = { { 0 } };
	struct ibv_pd *pd = ibv_alloc_pd(w->context);
	struct ibv_cq *cq = ibv_create_cq(w->context, 4, NULL, NULL, 0);
	struct ibv_srq *srq = ibv_create_srq(w->pd, &srq_attr);
	struct ibv_qp *qp = ibv_create_qp(w->pd, &attr);
	struct ibv_mr *mr = ibv_reg_mr(w->pd, buf, sizeof(buf), 0);
	struct ibv_td *td = usiw_alloc_td(w->context, &td_attr);

	assert_true(pd && cq && srq && qp && mr && td);
	for (int again = 0; again < 2; again++) {
		int want = again ? ENOENT : 0;

		assert_int_equal(usiw_dealloc_pd(pd), want);
		assert_int_equal(usiw_destroy_cq(cq), want);
		assert_int_equal(usiw_destroy_srq(srq), want);
		assert_int_equal(usiw_destroy_qp(qp), want);
		assert_int_equal(usiw_dereg_mr((struct verbs_mr *)mr), want);
		assert_int_equal(usiw_dealloc_td(td), want);
	}
	assert_null(usiw_reg_mr(pd, buf, sizeof(buf), 0, 0));
	assert_int_equal(errno, ENOENT);
	assert_int_equal(usiw_resize_cq(cq, 4), ENOENT);
	assert_int_equal(usiw_query_srq(srq, &srq_attr.attr), ENOENT);
	assert_int_equal(usiw_modify_srq(srq, &srq_attr.attr, 0), ENOENT);
	assert_int_equal(usiw_query_qp(qp, &qp_attr, 0, &attr), ENOENT);
	assert_int_equal(usiw_modify_qp(qp, &qp_attr, 0), ENOENT);
	assert_int_equal(usiw_attach_mcast(qp, &gid, 0), ENOENT);
	assert_int_equal(usiw_rereg_mr((struct verbs_mr *)mr,
				       IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL,
				       0, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(errno, ENOENT);
}
