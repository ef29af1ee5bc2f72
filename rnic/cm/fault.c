/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See fault.h. */
#include "fault.h"

#include "os/addr.h"

const struct util_fault_rule *cm_fault(const struct sockaddr *peer,
				       uint32_t faults)
{
	struct sockaddr_storage copy;
	const struct rnic_fault_event event = { .faults = faults,
						.peer = &copy };
	struct rnic_fault_hits hits;

	if (!rnic_fault_is_on(RNIC_FAULT_AT_CM))
		return NULL;
	rnic_addr_set(&copy, peer);
	if (!rnic_fault_match(&event, &hits))
		return NULL;
	rnic_fault_tell(&event, &hits);
	return rnic_fault_first(&hits, faults);
}
