/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The end of identities. */
#ifndef RNIC_CM_TEARDOWN_H
#define RNIC_CM_TEARDOWN_H

#include "object.h"

/* Frees it with all its parts, including the stream of its QP. */
void cm_id_free(struct cm_id *id);

#endif
