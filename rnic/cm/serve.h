/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the loop calls for identities and connections.  Locked. */
#ifndef RNIC_CM_SERVE_H
#define RNIC_CM_SERVE_H

#include "object.h"

/* Sockets cannot be waited for: what is being made ends; connections that stand
 * are not concerned. */
void cm_serve_broken(void);
/* Sockets of identities; connections are in rnic_starts. */
void cm_serve_close_all(void);

#endif
