/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Faults of USIW_FAULT at calls of rdma_cm. */
#ifndef RNIC_CM_FAULT_H
#define RNIC_CM_FAULT_H

#include "fault/rules.h"
#include "rnic.h"

/*
 * A call begins to do something with @peer.
 * @faults: that it may fire, by RNIC_FAULT_BIT().
 * Return: the rule that it has fired; NULL: none.
 */
const struct util_fault_rule *cm_fault(const struct sockaddr *peer,
				       uint32_t faults);

#endif
