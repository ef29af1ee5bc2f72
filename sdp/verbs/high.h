/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Descriptors of the library's own stand above those of the program, which
 * counts on low numbers: it may dup2() over any. */
#ifndef SDP_VERBS_HIGH_H
#define SDP_VERBS_HIGH_H

/* *fd becomes a high number of the same file, CLOEXEC; it stays where it is if
 * the limit allows none. */
void sdp_high_move(int *fd);

#endif
