/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Why a verb is refused (util/reason.h). */
#ifndef USIW_REASON_H
#define USIW_REASON_H

#include <infiniband/verbs.h>

#include "util/reason.h"

#define usiw_refuse(err, call, ...) util_refuse("verbs", err, call, __VA_ARGS__)
#define usiw_refuse_datagrams(call) util_refuse_datagrams("verbs", call)
#define usiw_refuse_memory(call) util_refuse_memory("verbs", call)
#define usiw_check_range(...) util_check_range("verbs", __VA_ARGS__)

/* The object was made before the last fork. */
#define usiw_refuse_forked(call)                                               \
	usiw_refuse(ENODEV, call, "the object belongs to the parent process")

/* Return: 0: @mask has all bits of @must; -EINVAL, and names those of enum
 * ibv_qp_attr_mask that are missing. */
int usiw_check_mask(enum ibv_qp_state next, int mask, int must);

/* There is no such transition.  Return: -EINVAL; -EOPNOTSUPP: SQD. */
int usiw_refuse_move(enum ibv_qp_state now, enum ibv_qp_state next);

/* As INIT.  Never NULL. */
const char *usiw_state_name(enum ibv_qp_state state);

#endif
