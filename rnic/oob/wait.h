/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* QPs that wait for a peer, by number, and when each is to dial again. */
#ifndef RNIC_OOB_WAIT_H
#define RNIC_OOB_WAIT_H

#include "object.h"

/* The QP of that number waits; NULL: no. */
struct oob *oob_find(uint32_t num);

/* The first of all; the others follow by all_link. */
struct oob *oob_first(void);

void oob_add(struct oob *oob);

/* It waits no more, and is freed.  It has no link any more. */
void oob_remove(struct oob *oob);

/* The dialler's try came to nothing: another one, later. */
void oob_try_again(struct oob *oob);

/* Forked child: the parent's are not here. */
void oob_wait_forget(void);

#endif
