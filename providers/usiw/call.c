/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See call.h. */
#include "call.h"

#include <errno.h>
#include <string.h>

#include "objects.h"
#include "rnic/os/rnic-observer.h"
#include "rnic/qp/rnic-fault.h"
#include "util/clock.h"
#include "util/keep-errno.h"

/* Nothing is observed before a context is open. */
static const _Atomic uint32_t none;
const _Atomic uint32_t *_Atomic usiw_observed_word = &none;

/* Octets of arguments; a result is short. */
#define ARGS_MAX (USIW_CALL_BUF - 128)

static bool is_recorded(void)
{
	return usiw_observed() & 1u << USIW_OBSERVE_CALLS;
}

void usiw_call_begin(struct usiw_call *call, const char *name)
{
	call->name = name;
	call->err = 0;
	call->saved_errno = errno;
	call->is_answered = false;
	call->is_query = strncmp(name, "ibv_query_", 10) == 0;
	call->is_poll = false;
	call->wc = NULL;
	call->qp_attr = NULL;
	call->cq_num = 0;
	call->is_ud = false;
	call->args_len = 0;
	call->text = (struct util_text){
		.buf = call->buf,
		.size = is_recorded() ? ARGS_MAX : 0,
	};
	call->took_ns = 0;
	call->began_ns = util_now_ns();
}

bool usiw_call_fails(struct usiw_call *call, const struct ibv_qp *qp)
{
	/* Names of rules have no "ibv_". */
	call->err = rnic_fault_call(
		strchr(call->name, '_') + 1,
		qp ? usiw_qp((struct ibv_qp *)(uintptr_t)qp)->rnic : NULL);
	call->began_ns = util_now_ns();
	errno = call->saved_errno;
	return call->err != 0;
}

void usiw_call_return(struct usiw_call *call)
{
	call->saved_errno = errno;
	call->took_ns = util_now_ns() - call->began_ns;
}

void usiw_call_args_end(struct usiw_call *call)
{
	call->args_len = call->text.len;
	call->text.is_cut = false;
	if (call->text.size)
		call->text.size = sizeof(call->buf);
}

/* ---- records ------------------------------------------------------------ */

struct told {
	const char *name, *text;
	size_t args_len, text_len;
	uint64_t took_ns;
	uint32_t cnt;
	int result;
};

static void record_write(enum usiw_call_record_kind kind,
			 const struct told *told)
{
	uint32_t name_len = (uint32_t)strlen(told->name);
	struct rnic_observer_record record;
	struct usiw_call_record *to;

	if (!rnic_observer_begin(
		    USIW_OBSERVE_CALLS, (uint16_t)kind,
		    (uint32_t)(sizeof(*to) + name_len + told->text_len),
		    &record))
		return;
	to = record.payload;
	to->took_ns = told->took_ns;
	to->cnt = told->cnt;
	to->result = told->result;
	usiw_call_record_set_text(to, told->name, name_len, told->text,
				  (uint32_t)told->args_len,
				  told->text + told->args_len,
				  (uint32_t)(told->text_len - told->args_len));
	rnic_observer_end(USIW_OBSERVE_CALLS, &record);
}

/*
 * A thread that polls an empty CQ again and again would fill the ring by that
 * alone.  The first poll is told; those that follow, with the next other call
 * of the thread, or after a while.
 */
#define POLLS_NS (100 * NS_PER_MS)

static _Thread_local struct {
	const char *name;
	uint32_t cq_num, cnt;
	uint64_t took_ns, told_ns;
	size_t args_len, text_len;
	char text[64];
} polls;

static void polls_tell(uint64_t now)
{
	if (polls.cnt)
		record_write(USIW_RECORD_CALL,
			     &(struct told){ .name = polls.name,
					     .text = polls.text,
					     .args_len = polls.args_len,
					     .text_len = polls.text_len,
					     .took_ns = polls.took_ns,
					     .cnt = polls.cnt,
					     .result = 0 });
	polls.cnt = 0;
	polls.took_ns = 0;
	polls.told_ns = now;
}

/* Return: whether it is told later. */
static bool poll_is_kept(const struct usiw_call *call, uint64_t now)
{
	if (polls.name != call->name || polls.cq_num != call->cq_num) {
		polls_tell(now);
		polls.name = call->name;
		polls.cq_num = call->cq_num;
		polls.args_len = call->args_len;
		polls.text_len = call->text.len;
		if (call->text.len > sizeof(polls.text))
			polls.args_len = polls.text_len = 0;
		memcpy(polls.text, call->buf, polls.text_len);
		return false;
	}
	polls.cnt++;
	polls.took_ns += call->took_ns;
	if (now - polls.told_ns >= POLLS_NS)
		polls_tell(now);
	return true;
}

/* They follow the call that has returned them. */
static void completions_write(const struct usiw_call *call, int cnt)
{
	const struct ibv_wc *wc = call->wc;
	struct rnic_observer_record record;

	for (int i = 0; i < cnt; i++) {
		if (!rnic_observer_begin(
			    USIW_OBSERVE_CALLS, USIW_RECORD_COMPLETION,
			    sizeof(struct usiw_completion_record), &record))
			continue;
		*(struct usiw_completion_record *)record.payload =
			(struct usiw_completion_record){
				.wr_id = wc[i].wr_id,
				.qp_num = wc[i].qp_num,
				.cq_num = call->cq_num,
				.byte_len = wc[i].byte_len,
				.vendor_err = wc[i].vendor_err,
				.imm_be = wc[i].imm_data,
				.status = (uint8_t)wc[i].status,
				.opcode = (uint8_t)wc[i].opcode,
				.flags = (uint8_t)wc[i].wc_flags,
			};
		rnic_observer_end(USIW_OBSERVE_CALLS, &record);
	}
}

static void call_write(const struct usiw_call *call, int result)
{
	uint64_t now = util_now_ns();

	if (call->is_poll && result == 0 && poll_is_kept(call, now))
		return;
	if (!call->is_poll || result != 0) {
		polls_tell(now);
		polls.name = NULL;
	}
	record_write(USIW_RECORD_CALL,
		     &(struct told){ .name = call->name,
				     .text = call->buf,
				     .args_len = call->args_len,
				     .text_len = call->text.len,
				     .took_ns = call->took_ns,
				     .cnt = 1,
				     .result = result });
	if (call->wc)
		completions_write(call, result);
}

void usiw_call_end(struct usiw_call *call, int result)
{
	if (is_recorded())
		call_write(call, result);
	errno = call->saved_errno;
}

void usiw_call_event(const struct usiw_call *call)
{
	UTIL_KEEP_ERRNO();

	if (is_recorded())
		record_write(USIW_RECORD_EVENT,
			     &(struct told){ .name = call->name,
					     .text = call->buf,
					     .args_len = call->text.len,
					     .text_len = call->text.len,
					     .cnt = 1 });
}

void usiw_call_post(uint32_t qp_num, uint64_t wr_id, bool is_recv,
		    bool is_signaled)
{
	struct rnic_observer_record record;
	UTIL_KEEP_ERRNO();

	if (!rnic_observer_begin(USIW_OBSERVE_CALLS, USIW_RECORD_POST,
				 sizeof(struct usiw_post_record), &record))
		return;
	*(struct usiw_post_record *)record.payload = (struct usiw_post_record){
		.wr_id = wr_id,
		.qp_num = qp_num,
		.is_recv = is_recv,
		.is_signaled = is_signaled,
	};
	rnic_observer_end(USIW_OBSERVE_CALLS, &record);
}
