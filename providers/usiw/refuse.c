/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The table of operations for libibverbs.  A verb that is not supported fails
 * with EOPNOTSUPP, in the way of that verb.
 *
 * Every row is set, so that the library never falls back to a command on the
 * uverbs fd.
 */
#include <string.h>

#include "objects.h"
#include "reason.h"
#include "result.h"

/* The functions for unsupported verbs do not use their parameters. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define NOT_THERE(name)                                                        \
	usiw_refuse(EOPNOTSUPP, "ibv_" #name, "usiw does not have it")

#define REFUSE_DO(ret, name, params)
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

#define VERBS_ROW(since, kind, ret, name, params)                              \
	REFUSE_##kind(ret, name, params)
#include "verbs-ops.def"

#define FILL_DO(name) .name = usiw_##name,
#define FILL_LIB(name)
#define FILL_INT(name) .name = refuse_##name,
#define FILL_PTR(name) .name = refuse_##name,
#define FILL_FD(name) .name = refuse_##name,
#define FILL_REREG(name) .name = refuse_##name,
#define FILL_VOID(name) .name = refuse_##name,

#define VERBS_ROW(since, kind, ret, name, params) FILL_##kind(name)
const struct verbs_ops usiw_context_ops = {
#include "verbs-ops.def"
};

static const uint8_t op_since[] = {
#define VERBS_ROW(since, kind, ret, name, params) since,
#include "verbs-ops.def"
};

_Static_assert(sizeof(op_since) == VERBS_OP_CNT, "a number for each row");

size_t usiw_ops_of(uint32_t layout, void *ret_ops)
{
	const char *from = (const char *)&usiw_context_ops;
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
