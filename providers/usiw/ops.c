/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The table of operations for libibverbs.  A verb that is not supported fails
 * with EOPNOTSUPP, in the way of that verb.
 *
 * Every row is set, so that the library never falls back to a command on the
 * uverbs fd.
 */
#include <string.h>

#include "call.h"
#include "objects.h"
#include "print.h"
#include "reason.h"
#include "result.h"

/* The functions for unsupported verbs do not use their parameters. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define NOT_THERE(name)                                                        \
	usiw_refuse(EOPNOTSUPP, "ibv_" #name, "usiw does not have it")

#define REFUSE_DO(ret, name, params)
#define REFUSE_POST(ret, name, params)
#define REFUSE_COUNT(ret, name, params)
#define REFUSE_POLL(ret, name, params)
#define REFUSE_MAKE(ret, name, params)
#define REFUSE_TELL(ret, name, params)
#define REFUSE_LIB(ret, name, params)
#define REFUSE_INT(ret, name, params)                                          \
	static ret refuse_##name params                                        \
	{                                                                      \
		return usiw_result_int(NOT_THERE(name));                       \
	}
#define REFUSE_PTR(ret, name, params)                                          \
	static ret refuse_##name params                                        \
	{                                                                      \
		return usiw_result_null(NOT_THERE(name));                      \
	}
#define REFUSE_FD(ret, name, params)                                           \
	static ret refuse_##name params                                        \
	{                                                                      \
		return usiw_result_minus(NOT_THERE(name));                     \
	}
#define REFUSE_REREG(ret, name, params)                                        \
	static ret refuse_##name params                                        \
	{                                                                      \
		return usiw_result_rereg(NOT_THERE(name));                     \
	}
#define REFUSE_VOID(ret, name, params)                                         \
	static ret refuse_##name params                                        \
	{                                                                      \
	}

#define VERBS_ROW(since, kind, ret, name, params, args)                        \
	REFUSE_##kind(ret, name, params)
#include "verbs-ops.def"

/* ---- every verb that is there: see call.h -------------------------------- */

/* The QP that a verb is about, if it is its first argument. */
static const struct ibv_qp *qp_itself(const struct ibv_qp *qp)
{
	return qp;
}

static const struct ibv_qp *qp_none(const void *object)
{
	(void)object;
	return NULL;
}

#define FIRST(first, ...) (first)
#define CALL_QP(first)                                                         \
	_Generic((first), struct ibv_qp *: qp_itself, default: qp_none)(first)

/*
 * @printed: the arguments to print.
 * @failed: what it returns if it must fail, by call.err.
 * @result: of usiw_call_end().
 * @more: what is printed of @value.
 */
#define CALL(ret, name, params, args, printed, failed, result, more)           \
	static ret call_##name params                                          \
	{                                                                      \
		struct usiw_call call;                                         \
		ret value;                                                     \
                                                                               \
		if (!usiw_calls_are_observed())                                \
			return usiw_##name args;                               \
		usiw_call_begin(&call, "ibv_" #name);                          \
		if (!call.is_query)                                            \
			PRINT(printed);                                        \
		value = usiw_call_fails(&call, CALL_QP(FIRST args))            \
				? (failed)                                     \
				: usiw_##name args;                            \
		usiw_call_return(&call);                                       \
		call.is_answered = !value;                                     \
		if (call.is_query)                                             \
			PRINT(printed);                                        \
		more;                                                          \
		usiw_call_end(&call, result);                                  \
		return value;                                                  \
	}
#define UNPACK(...) __VA_ARGS__
#define PRINT(printed) PRINT_UNPACKED(UNPACK printed)
#define PRINT_UNPACKED(...) USIW_PRINT_ARGS(&call, __VA_ARGS__)
#define FIRST_TWO(a, b, ...) (a, b)

#define CALL_DO(ret, name, params, args)                                       \
	CALL(ret, name, params, args, args, usiw_result_int(call.err),         \
	     value < 0 ? -call.saved_errno : -value,                           \
	     usiw_call_args_end(&call))
#define CALL_POST(ret, name, params, args)                                     \
	CALL(ret, name, params, args, FIRST_TWO args,                          \
	     (*bad_wr = wr, usiw_result_int(call.err)), -value,                \
	     usiw_print_bad(&call, value, value ? *bad_wr : NULL))
#define CALL_COUNT(ret, name, params, args)                                    \
	CALL(ret, name, params, args, args, usiw_result_minus(call.err),       \
	     value < 0 ? -call.saved_errno : value,                            \
	     usiw_print_count(&call, value))
#define CALL_POLL(ret, name, params, args)                                     \
	CALL(ret, name, params, args, FIRST_TWO args,                          \
	     usiw_result_minus(call.err),                                      \
	     value < 0 ? -call.saved_errno : value,                            \
	     (call.is_poll = true, usiw_print_count(&call, value),             \
	      call.wc = wc))
#define CALL_MAKE(ret, name, params, args)                                     \
	CALL(ret, name, params, args, args, usiw_result_null(call.err),        \
	     value ? 0 : -call.saved_errno,                                    \
	     (usiw_call_args_end(&call), USIW_PRINT_MADE(&call, value)))

static void tell_async_event(struct ibv_context *context,
			     const struct ibv_async_event *event)
{
	struct usiw_call call;

	(void)context;
	usiw_call_begin(&call, "");
	usiw_print_event(&call, event);
	usiw_call_event(&call);
}

static void tell_cq_event(struct ibv_cq *cq)
{
	struct usiw_call call;

	usiw_call_begin(&call, "ibv_get_cq_event");
	usiw_print_name(&call, "cq");
	usiw_print_cq(&call, cq);
	usiw_call_event(&call);
}

static void tell_free_context(struct ibv_context *context)
{
	struct usiw_call call;

	usiw_call_begin(&call, "ibv_close_device");
	usiw_print_name(&call, "context");
	usiw_print_context(&call, context);
	usiw_call_args_end(&call);
	usiw_call_end(&call, 0);
}

#define CALL_TELL(ret, name, params, args)                                     \
	static ret call_##name params                                          \
	{                                                                      \
		if (usiw_calls_are_observed())                                 \
			tell_##name args;                                      \
		usiw_##name args;                                              \
	}
#define CALL_INT(ret, name, params, args)
#define CALL_PTR(ret, name, params, args)
#define CALL_FD(ret, name, params, args)
#define CALL_VOID(ret, name, params, args)
#define CALL_REREG(ret, name, params, args)
#define CALL_LIB(ret, name, params, args)

#define VERBS_ROW(since, kind, ret, name, params, args)                        \
	CALL_##kind(ret, name, params, args)
#include "verbs-ops.def"

/* ---- the table ---------------------------------------------------------- */

#define FILL_DO(name) .name = call_##name,
#define FILL_POST(name) .name = call_##name,
#define FILL_COUNT(name) .name = call_##name,
#define FILL_POLL(name) .name = call_##name,
#define FILL_MAKE(name) .name = call_##name,
#define FILL_TELL(name) .name = call_##name,
#define FILL_LIB(name)
#define FILL_INT(name) .name = refuse_##name,
#define FILL_PTR(name) .name = refuse_##name,
#define FILL_FD(name) .name = refuse_##name,
#define FILL_REREG(name) .name = refuse_##name,
#define FILL_VOID(name) .name = refuse_##name,

#define VERBS_ROW(since, kind, ret, name, params, args) FILL_##kind(name)
const struct verbs_ops usiw_context_ops = {
#include "verbs-ops.def"
};

const struct verbs_ops *usiw_offered_ops = &usiw_context_ops;

static const uint8_t op_since[] = {
#define VERBS_ROW(since, kind, ret, name, params, args) since,
#include "verbs-ops.def"
};

_Static_assert(sizeof(op_since) == VERBS_OP_CNT, "a number for each row");

size_t usiw_ops_of(uint32_t layout, void *ret_ops)
{
	const char *from = (const char *)usiw_offered_ops;
	char *to = ret_ops;
	size_t cnt = 0;

	for (size_t i = 0; i < VERBS_OP_CNT; i++) {
		if (op_since[i] > layout)
			continue;
		memcpy(to + cnt * sizeof(void (*)(void)),
		       from + i * sizeof(void (*)(void)),
		       sizeof(void (*)(void)));
		cnt++;
	}
	return cnt;
}
