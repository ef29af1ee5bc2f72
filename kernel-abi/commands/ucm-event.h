/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* GET_EVENT. */
#ifndef KABI_UCM_EVENT_H
#define KABI_UCM_EVENT_H

#include <rdma/rdma_user_cm.h>
#include <stddef.h>

#include "commands/ucm-file.h"

/* The answer of older librdmacm ends before ece and the padding before it. */
#define KABI_UCM_EVENT_MIN offsetof(struct rdma_ucm_event_resp, reserved)

/* Waits for an event of the file and encodes it for librdmacm.
 * Return: 0; -errno. */
int kabi_ucm_get_event(struct kabi_ucm *file, const struct kabi_ucm_call *call);

#endif
