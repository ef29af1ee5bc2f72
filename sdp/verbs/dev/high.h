/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Keeps the library's descriptors above those of the program. Programs rely on
 * low numbers, and may dup2() over any of them. */
#ifndef SDP_VERBS_HIGH_H
#define SDP_VERBS_HIGH_H

/* Moves *fd to a high number, with CLOEXEC. Leaves it unchanged if the limit
 * allows no high number. */
void sdp_high_move(int *fd);

#endif
