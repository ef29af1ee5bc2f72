/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* QPs that wait for a peer, by number, and the time at which each dials
 * again. */
#ifndef RNIC_OOB_WAIT_H
#define RNIC_OOB_WAIT_H

#include "object.h"
#include "util/addr-text.h"

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

/* "qp 0x00012a from 192.0.2.1 port 0 to 192.0.2.2 port 4791", for log lines.
 * Return: @buf. */
#define OOB_NAME_LEN (UTIL_ADDR_PAIR_TEXT_LEN + 16)
const char *oob_name(const struct oob *oob, char buf[OOB_NAME_LEN]);
#define OOB_NAME(oob) oob_name(oob, (char[OOB_NAME_LEN]){ 0 })

#endif
