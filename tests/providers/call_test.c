/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Verbs leave a record when a command observes, and none otherwise; they fail
 * when a rule says so. */
#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/usiw-observer.h"
#include "fake-rnic.h"
#include "util/fault-names.h"

#define RECORD_MAX 16

static uint64_t memory[RECORD_MAX][FAKE_RECORD_SIZE / 8];
static uint32_t seen_cnt; /* records that were looked at */

static void observe(void)
{
	fake.record = (struct usiw_record *)memory;
	fake.record_max = RECORD_MAX;
	fake.observer_end_cnt = 0;
	seen_cnt = 0;
	atomic_store(&fake.observed, 1u << USIW_OBSERVE_CALLS);
}

static void observe_end(void)
{
	atomic_store(&fake.observed, 0);
	assert_int_equal(seen_cnt, fake.observer_end_cnt);
}

/* The payload of the next record, which is of @kind. */
static const void *next(uint16_t kind)
{
	const struct usiw_record *head = (const void *)memory[seen_cnt];

	assert_true(seen_cnt < fake.observer_end_cnt);
	assert_int_equal(head->kind, kind);
	seen_cnt++;
	return head + 1;
}

/* The next record: name and arguments; its result. */
static void expect_of(uint16_t kind, const char *text, const char *made,
		      int result)
{
	const struct usiw_call_record *call = next(kind);
	char buf[FAKE_RECORD_SIZE];

	snprintf(buf, sizeof(buf), "%.*s(%.*s)", call->name_len, call->text,
		 call->args_len, call->text + call->name_len);
	assert_string_equal(buf, text);
	snprintf(buf, sizeof(buf), "%.*s", call->made_len,
		 call->text + call->name_len + call->args_len);
	assert_string_equal(buf, made);
	assert_int_equal(call->result, result);
}

static void expect(const char *text, const char *made, int result)
{
	expect_of(USIW_RECORD_CALL, text, made, result);
}

FAKE_CASE(unobserved_verbs_leave_nothing)
{
	struct fake_world *w = *state;
	struct ibv_wc wc;

	observe();
	atomic_store(&fake.observed, 0);
	assert_int_equal(ibv_poll_cq(w->cq, 1, &wc), 0);
	assert_int_equal(fake.observer_end_cnt, 0);
	assert_int_equal(fake.copy_cnt, 0);
}

/* The objects of the world, in texts. */
#define TEXT(...) (snprintf(text, sizeof(text), __VA_ARGS__), text)

FAKE_CASE(each_kind_of_result_is_recorded)
{
	struct fake_world *w = *state;
	struct ibv_recv_wr recv = { .wr_id = 7, .num_sge = 99 }, *bad;
	const struct usiw_completion_record *completion;
	struct ibv_pd *pd;
	struct ibv_wc wc;
	char text[256];

	observe();
	fake_cq_push(usiw_cq(w->cq)->rnic, &fake_cqe);
	assert_int_equal(ibv_poll_cq(w->cq, 1, &wc), 1);
	expect(TEXT("ibv_poll_cq(cq=%u, num=1)", w->cq->handle), "", 1);
	completion = next(USIW_RECORD_COMPLETION);
	assert_int_equal(completion->wr_id, wc.wr_id);
	assert_int_equal(completion->status, wc.status);
	assert_int_equal(completion->opcode, wc.opcode);
	assert_int_equal(completion->qp_num, wc.qp_num);
	assert_int_equal(completion->cq_num, w->cq->handle);
	assert_int_equal(completion->byte_len, wc.byte_len);
	assert_int_equal(ibv_poll_cq(w->cq, -1, &wc), -1);
	expect(TEXT("ibv_poll_cq(cq=%u, num=-1)", w->cq->handle), "-1",
	       -EINVAL);
	/* The verb does not look at its SGEs, and no bad pointer is used. */
	assert_int_equal(ibv_post_recv(w->qp, &recv, &bad), EINVAL);
	expect("ibv_post_recv(qp=0xabcd12, wr=[{wr_id=0x7, sge=[NULL]}], "
	       "bad_wr={wr_id=0x7})",
	       "", -EINVAL);
	pd = ibv_alloc_pd(w->context);
	expect("ibv_alloc_pd(context=usiw_fake)", TEXT("pd %u", pd->handle), 0);
	snprintf(text, sizeof(text), "ibv_dealloc_pd(pd=%u)", pd->handle);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	expect(text, "", 0);
	fake.fail_name = "rnic_pd_alloc";
	fake.fail_err = -ENOMEM;
	assert_null(ibv_alloc_pd(w->context));
	assert_int_equal(errno, ENOMEM);
	expect("ibv_alloc_pd(context=usiw_fake)", "NULL", -ENOMEM);
	observe_end();
}

/* ---- arguments ----------------------------------------------------------- */

FAKE_CASE(sends_are_printed_and_told_before_they_are_published)
{
	struct fake_world *w = *state;
	struct ibv_send_wr wr = fake_send_wr(IBV_WR_RDMA_WRITE), *bad;
	struct ibv_send_wr second = fake_send_wr(IBV_WR_SEND_WITH_IMM);
	const struct usiw_post_record *post;
	char text[512];

	wr.next = &second;
	wr.send_flags = 0;
	second.num_sge = 0;
	second.imm_data = htonl(0x1234);
	second.wr_id++;
	observe();
	assert_int_equal(ibv_post_send(w->qp, &wr, &bad), 0);
	post = next(USIW_RECORD_POST);
	assert_int_equal(post->wr_id, wr.wr_id);
	assert_int_equal(post->qp_num, FAKE_QP_NUM);
	assert_false(post->is_recv);
	assert_false(post->is_signaled);
	post = next(USIW_RECORD_POST);
	assert_int_equal(post->wr_id, second.wr_id);
	assert_true(post->is_signaled);
	expect(TEXT("ibv_post_send(qp=0xabcd12, wr=[{wr_id=0x%llx, "
		    "opcode=IBV_WR_RDMA_WRITE, flags=0, sge=[{0x%llx, %u, "
		    "lkey=0x%x}, {0x%llx, %u, lkey=0x%x}], "
		    "remote={0x%llx, rkey=0x%x}}, {wr_id=0x%llx, "
		    "opcode=IBV_WR_SEND_WITH_IMM, flags=IBV_SEND_SIGNALED, "
		    "sge=[], imm_data=0x1234}])",
		    (unsigned long long)wr.wr_id,
		    (unsigned long long)fake_sges[0].addr, fake_sges[0].length,
		    fake_sges[0].lkey, (unsigned long long)fake_sges[1].addr,
		    fake_sges[1].length, fake_sges[1].lkey,
		    (unsigned long long)wr.wr.rdma.remote_addr, wr.wr.rdma.rkey,
		    (unsigned long long)second.wr_id),
	       "", 0);
	observe_end();
}

FAKE_CASE(only_attributes_of_the_mask_are_printed)
{
	struct fake_world *w = *state;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = 0x42,
				    .pkey_index = 3,
				    .port_num = 9 };
	static const char queried[] =
		"ibv_query_qpqp=0xabcd12, attr={qp_state=IBV_QPS_RTS}, "
		"attr_mask=0x1, init_attr={send_cq=";

	observe();
	(void)ibv_modify_qp(w->qp, &attr,
			    IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_PKEY_INDEX);
	expect_of(USIW_RECORD_CALL,
		  "ibv_modify_qp(qp=0xabcd12, attr={qp_state=IBV_QPS_INIT, "
		  "pkey_index=3, path_mtu=IBV_MTU_1024, dest_qp_num=0x42}, "
		  "attr_mask=0x100111)",
		  "", -EINVAL);
	/* What a query returns is there when it has returned. */
	assert_int_equal(ibv_query_qp(w->qp, &attr, IBV_QP_STATE,
				      &(struct ibv_qp_init_attr){ 0 }),
			 0);
	assert_memory_equal(
		((const struct usiw_call_record *)next(USIW_RECORD_CALL))->text,
		queried, strlen(queried));
	observe_end();
}

/* Nothing of an object that does not exist is read. */
FAKE_CASE(objects_that_are_gone_are_pointers)
{
	struct fake_world *w = *state;
	struct usiw_qp *copy = malloc(sizeof(*copy));
	char text[128];

	memcpy(copy, w->qp, sizeof(*copy));
	observe();
	assert_int_equal(ibv_destroy_qp(&copy->vqp.qp), ENOENT);
	expect(TEXT("ibv_destroy_qp(qp=%p)", (void *)copy), "", -ENOENT);
	observe_end();
	free(copy);
}

FAKE_CASE(long_lists_are_cut)
{
	struct fake_world *w = *state;
	static struct ibv_recv_wr list[100];
	const struct usiw_call_record *call;
	struct ibv_recv_wr *bad;
	const char *end;

	for (size_t i = 0; i + 1 < ARRAY_LEN(list); i++)
		list[i].next = &list[i + 1];
	observe();
	fake.record_max = 1;
	assert_int_equal(ibv_post_srq_recv(w->srq, list, &bad), ENOMEM);
	fake.observer_end_cnt = 0; /* posts came first */
	assert_int_equal(ibv_post_srq_recv(w->srq, list, &bad), ENOMEM);
	call = next(USIW_RECORD_CALL);
	end = call->text + call->name_len + call->args_len;
	assert_in_range(call->name_len + call->args_len + call->made_len, 800,
			USIW_CALL_TEXT_MAX);
	assert_memory_equal(end - 3, "...", 3);
	/* The result is there. */
	assert_int_equal(call->result, -ENOMEM);
	observe_end();
}

/* Before memory is registered there is no guard, but the kernel. */
FAKE_CASE(arguments_are_read_without_a_guard)
{
	struct fake_world *w = *state;
	struct ibv_srq_attr attr = { .max_wr = 4, .srq_limit = 2 };
	char text[128];

	fake.no_guard = true;
	observe();
	(void)ibv_modify_srq(w->srq, &attr, IBV_SRQ_LIMIT);
	expect(TEXT("ibv_modify_srq(srq=%u, attr={max_wr=4, max_sge=0, "
		    "srq_limit=2}, attr_mask=IBV_SRQ_LIMIT)",
		    w->srq->handle),
	       "", 0);
	observe_end();
}

/* ---- polls and events --------------------------------------------------- */

FAKE_CASE(polls_of_an_empty_queue_are_told_together)
{
	struct fake_world *w = *state;
	const struct usiw_call_record *call;
	struct ibv_wc wc;

	observe();
	for (int i = 0; i < 10; i++)
		assert_int_equal(ibv_poll_cq(w->cq, 1, &wc), 0);
	call = next(USIW_RECORD_CALL);
	assert_int_equal(call->cnt, 1);
	fake_cq_push(usiw_cq(w->cq)->rnic, &fake_cqe);
	assert_int_equal(ibv_poll_cq(w->cq, 1, &wc), 1);
	call = next(USIW_RECORD_CALL);
	assert_int_equal(call->cnt, 9);
	assert_int_equal(call->result, 0);
	call = next(USIW_RECORD_CALL);
	assert_int_equal(call->cnt, 1);
	assert_int_equal(call->result, 1);
	(void)next(USIW_RECORD_COMPLETION);
	observe_end();
}

FAKE_CASE(events_are_told)
{
	struct fake_world *w = *state;
	struct ibv_async_event event = { .element.qp = w->qp,
					 .event_type = IBV_EVENT_QP_FATAL };
	char text[64];

	observe();
	usiw_context_ops.async_event(w->context, &event);
	expect_of(USIW_RECORD_EVENT, "IBV_EVENT_QP_FATAL(qp=0xabcd12)", "", 0);
	event = (struct ibv_async_event){ .element.port_num = 1,
					  .event_type = IBV_EVENT_PORT_ERR };
	usiw_context_ops.async_event(w->context, &event);
	expect_of(USIW_RECORD_EVENT, "IBV_EVENT_PORT_ERR(port_num=1)", "", 0);
	usiw_context_ops.cq_event(w->cq);
	expect_of(USIW_RECORD_EVENT,
		  TEXT("ibv_get_cq_event(cq=%u)", w->cq->handle), "", 0);
	observe_end();
}

/* No room, or the command has gone. */
FAKE_CASE(verbs_work_without_a_record)
{
	struct fake_world *w = *state;
	struct ibv_wc wc;

	observe();
	fake.record = NULL;
	assert_int_equal(ibv_poll_cq(w->cq, 1, &wc), 0);
	assert_int_equal(fake.observer_end_cnt, 0);
	atomic_store(&fake.observed, 0);
}

/* ---- calls that must fail ------------------------------------------------ */

static void let_fail(const char *name, int err)
{
	atomic_store(&fake.observed, USIW_CALLS_FAIL);
	fake.fault_name = name;
	fake.fault_err = err;
	fake.fault_qp = NULL;
	errno = 0;
}

FAKE_CASE(each_kind_of_verb_fails_in_its_way)
{
	struct fake_world *w = *state;
	struct ibv_send_wr send[2] = { { .next = &send[1] } }, *bad_send = NULL;
	struct ibv_recv_wr recv = { 0 }, *bad_recv = NULL;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	struct ibv_mr *mr;
	struct ibv_wc wc;

	let_fail("post_send", -EAGAIN);
	assert_int_equal(ibv_post_send(w->qp, send, &bad_send), EAGAIN);
	assert_int_equal(errno, EAGAIN);
	assert_ptr_equal(bad_send, &send[0]);
	assert_ptr_equal(fake.fault_qp, usiw_qp(w->qp)->rnic);
	assert_int_equal(fake.ring_sq_cnt, 0);
	let_fail("post_recv", -ENOMEM);
	assert_int_equal(ibv_post_recv(w->qp, &recv, &bad_recv), ENOMEM);
	assert_ptr_equal(bad_recv, &recv);
	let_fail("modify_qp", -EINVAL);
	assert_int_equal(ibv_modify_qp(w->qp, &attr, 0), EINVAL);
	assert_int_equal(fake.move_cnt, 0);
	let_fail("poll_cq", -EIO);
	assert_int_equal(ibv_poll_cq(w->cq, 1, &wc), -1);
	assert_int_equal(errno, EIO);
	assert_null(fake.fault_qp);
	let_fail("alloc_pd", -ENOMEM);
	assert_null(ibv_alloc_pd(w->context));
	assert_int_equal(errno, ENOMEM);
	mr = ibv_reg_mr(w->pd, fake.dm, sizeof(fake.dm), 0);
	assert_non_null(mr);
	let_fail("rereg_mr", -ENOMEM);
	assert_int_equal(
		ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
		IBV_REREG_MR_ERR_CMD);
	assert_int_equal(errno, ENOMEM);
	atomic_store(&fake.observed, 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

FAKE_CASE(other_verbs_are_done)
{
	struct fake_world *w = *state;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	struct ibv_wc wc;

	let_fail("post_send", -EAGAIN);
	assert_int_equal(ibv_modify_qp(w->qp, &attr, 0), 0);
	assert_int_equal(ibv_poll_cq(w->cq, 1, &wc), 0);
	assert_int_equal(fake.observer_end_cnt, 0);
	atomic_store(&fake.observed, 0);
}

/* What fails is seen in a trace, too. */
FAKE_CASE(a_failure_is_recorded)
{
	struct fake_world *w = *state;
	struct ibv_send_wr send = { 0 }, *bad;

	observe();
	let_fail("post_send", -EAGAIN);
	atomic_fetch_or(&fake.observed, 1u << USIW_OBSERVE_CALLS);
	assert_int_equal(ibv_post_send(w->qp, &send, &bad), EAGAIN);
	expect("ibv_post_send(qp=0xabcd12, wr=[{wr_id=0x0, "
	       "opcode=IBV_WR_RDMA_WRITE, flags=0, sge=[], remote={0x0, "
	       "rkey=0x0}}], bad_wr={wr_id=0x0})",
	       "", -EAGAIN);
	atomic_store(&fake.observed, 0);
}

/* Each verb that is there can be named in a rule. */
FAKE_CASE(rules_know_the_verbs)
{
	static const char *const names[] = {
#define NAME_DO(name) #name,
#define NAME_POST(name) #name,
#define NAME_COUNT(name) #name,
#define NAME_POLL(name) #name,
#define NAME_MAKE(name) #name,
#define NAME_TELL(name)
#define NAME_INT(name)
#define NAME_PTR(name)
#define NAME_FD(name)
#define NAME_VOID(name)
#define NAME_REREG(name)
#define NAME_LIB(name)
#define VERBS_ROW(since, kind, ret, name, params, args) NAME_##kind(name)
#include "providers/usiw/verbs-ops.def"
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (util_fault_call(names[i]) < 0)
			fail_msg("%s", names[i]);
}
