/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Why a command of rdma_cm is refused: one line at USIW_LOG=debug:cm, with both
 * addresses, what is so, and what would be right.
 */
#ifndef RNIC_CM_REASON_H
#define RNIC_CM_REASON_H

#include "object.h"

/* @call: as the application names it.  Return: -EINVAL. */
int cm_refuse(const struct cm_id *id, const char *call, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The identity is in another state than @wanted.  Return: -EINVAL. */
int cm_refuse_state(const struct cm_id *id, const char *call,
		    const char *wanted);

#endif
