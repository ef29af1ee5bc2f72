/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Why a verb is refused: one line at USIW_LOG=debug:verbs, with the argument,
 * its value, and what would be right:
 *
 *   usiw: verbs: debug: ibv_create_qp: EINVAL: max_send_wr is 70000, not 0 to
 *   65536
 */
#ifndef USIW_REASON_H
#define USIW_REASON_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>

/* @err: EINVAL or the like.  What follows is a format and its values.
 * Return: -@err. */
#define usiw_refuse(err, call, ...)                                            \
	(usiw_reason_say(#err, call, __VA_ARGS__), -(err))

void usiw_reason_say(const char *err, const char *call, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Return: 0: @value, of the argument @arg, is from @min to @max; -EINVAL. */
int usiw_check_range(const char *call, const char *arg, uint64_t value,
		     uint64_t min, uint64_t max);

/* Return: 0: @mask has all bits of @must; -EINVAL, and names those of enum
 * ibv_qp_attr_mask that are missing. */
int usiw_check_mask(enum ibv_qp_state next, int mask, int must);

/* ibv_modify_qp() is refused because there is no such transition. */
void usiw_reason_move(enum ibv_qp_state now, enum ibv_qp_state next);

/* As INIT.  Never NULL. */
const char *usiw_state_name(enum ibv_qp_state state);

#endif
