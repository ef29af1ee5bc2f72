/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* QPs that wait for a peer, by number, and the time at which each dials
 * again. */
#ifndef RNIC_OOB_WAIT_H
#define RNIC_OOB_WAIT_H

#include "object.h"

/* The QP of this number, if it waits; else NULL. */
struct oob *oob_find(uint32_t num);

/* The first of all; the others follow by all_link. */
struct oob *oob_first(void);

void oob_add(struct oob *oob);

/* It waits no longer and is freed. It has no link any more. */
void oob_remove(struct oob *oob);

/* The try of the dialling side failed: schedules another one. */
void oob_try_again(struct oob *oob);

/* In a forked child: forgets the QPs of the parent. */
void oob_wait_forget(void);

#endif
