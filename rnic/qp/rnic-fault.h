/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Calls that have to fail (USIW_FAULT): a part of rnic.h. */
#ifndef RNIC_FAULT_CALL_H
#define RNIC_FAULT_CALL_H

#include "rnic/rnic.h"

/*
 * Must this call fail?  Cheap without such rules; for verbs, USIW_CALLS_FAIL in
 * rnic_observed_word() says whether there are any.
 * @name: as util_fault_call() knows it; for others no rule can be made.
 * @qp: that it is about; NULL: none.
 * Return: 0; the errno that it fails with, negative.
 */
RNIC_EXPORT int rnic_fault_call(const char *name, const struct rnic_qp *qp);

#endif
