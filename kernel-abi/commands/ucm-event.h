/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* GET_EVENT. */
#ifndef KABI_UCM_EVENT_H
#define KABI_UCM_EVENT_H

#include "commands/ucm-file.h"

/* Waits for an event of the file and encodes it for librdmacm.
 * Return: 0; -errno. */
int kabi_ucm_get_event(struct kabi_ucm *file, const struct kabi_ucm_call *call);

#endif
