/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The end of identities. */
#ifndef RNIC_CM_TEARDOWN_H
#define RNIC_CM_TEARDOWN_H

#include "object.h"

/* With all that hangs on it, the stream of its QP included. */
void cm_id_free(struct cm_id *id);

#endif
