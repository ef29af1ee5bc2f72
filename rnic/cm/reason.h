/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Why a command of rdma_cm is refused: one line at USIW_LOG=debug:cm, with both
 * addresses, what is so, and what would be right.
 */
#ifndef RNIC_CM_REASON_H
#define RNIC_CM_REASON_H

#include "object.h"
#include "util/addr-text.h"

/* "id 3 from 192.0.2.1 port 7471 to 192.0.2.2 port 5000".  Return: @buf. */
#define CM_ID_NAME_LEN (UTIL_ADDR_PAIR_TEXT_LEN + 16)
const char *cm_id_name(const struct cm_id *id, char buf[CM_ID_NAME_LEN]);
#define CM_ID_NAME(id) cm_id_name(id, (char[CM_ID_NAME_LEN]){ 0 })

/* @call: as the application names it.  Return: -EINVAL. */
int cm_refuse(const struct cm_id *id, const char *call, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The identity is in another state than @wanted.  Return: -EINVAL. */
int cm_refuse_state(const struct cm_id *id, const char *call,
		    const char *wanted);

#endif
