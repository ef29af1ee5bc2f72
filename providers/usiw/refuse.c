/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The table of operations that libibverbs gets, and the refusals in it: what
 * is not offered answers EOPNOTSUPP in each verb's own way.
 *
 * Every row is set, so that the library never falls back to a command on the
 * uverbs fd.
 */
#include "door.h"
#include "objects.h"

/* A refusal has no use for what it is asked. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define REFUSE_DO(ret, name, params)
#define REFUSE_LIB(ret, name, params)
#define REFUSE_INT(ret, name, params)                                          \
	static ret refuse_##name params                                        \
	{                                                                      \
		return usiw_door_int(-EOPNOTSUPP);                             \
	}
#define REFUSE_PTR(ret, name, params)                                          \
	static ret refuse_##name params                                        \
	{                                                                      \
		return usiw_door_null(-EOPNOTSUPP);                            \
	}
#define REFUSE_FD(ret, name, params)                                           \
	static ret refuse_##name params                                        \
	{                                                                      \
		return usiw_door_minus(-EOPNOTSUPP);                           \
	}
#define REFUSE_REREG(ret, name, params)                                        \
	static ret refuse_##name params                                        \
	{                                                                      \
		return usiw_door_rereg(-EOPNOTSUPP);                           \
	}
#define REFUSE_VOID(ret, name, params)                                         \
	static ret refuse_##name params                                        \
	{                                                                      \
	}

#define VERBS_ROW(kind, ret, name, params) REFUSE_##kind(ret, name, params)
#include "verbs-ops.def"

#define FILL_DO(name) .name = usiw_##name,
#define FILL_LIB(name)
#define FILL_INT(name) .name = refuse_##name,
#define FILL_PTR(name) .name = refuse_##name,
#define FILL_FD(name) .name = refuse_##name,
#define FILL_REREG(name) .name = refuse_##name,
#define FILL_VOID(name) .name = refuse_##name,

#define VERBS_ROW(kind, ret, name, params) FILL_##kind(name)
const struct verbs_context_ops usiw_context_ops = {
#include "verbs-ops.def"
};
