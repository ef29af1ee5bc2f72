/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the loop calls for identities and connections.  Locked. */
#ifndef RNIC_CM_SERVE_H
#define RNIC_CM_SERVE_H

#include "object.h"

/* Deadlines: what is due; the next one (UINT64_MAX: none). */
void cm_serve_fire(uint64_t now_ns);
uint64_t cm_serve_next_ns(void);
/* Sockets cannot be waited for: what is being made ends; connections that stand
 * are not concerned. */
void cm_serve_broken(void);
/* Listeners and half-open connections; established streams belong to QPs. */
void cm_serve_close_all(void);

#endif
