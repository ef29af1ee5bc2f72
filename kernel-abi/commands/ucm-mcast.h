/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* JOIN_IP_MCAST, JOIN_MCAST, LEAVE_MCAST. */
#ifndef KABI_UCM_MCAST_H
#define KABI_UCM_MCAST_H

#include "commands/ucm-file.h"

/* Return: 0; -errno. */
int kabi_ucm_join_ip_mcast(struct kabi_ucm *file,
			   const struct kabi_ucm_call *call);
int kabi_ucm_join_mcast(struct kabi_ucm *file,
			const struct kabi_ucm_call *call);
int kabi_ucm_leave_mcast(struct kabi_ucm *file,
			 const struct kabi_ucm_call *call);

#endif
