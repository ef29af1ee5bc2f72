/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Keeps the library's descriptors above those of the program, and from it. */
#ifndef SDP_VERBS_HIGH_H
#define SDP_VERBS_HIGH_H

/* A descriptor that is soon closed, or that another layer keeps. */
void sdp_high_move(int *fd);

/* One that stays open: moves it, and reports it to the function of
 * sdp_verbs_on_keep(). */
void sdp_high_keep(int *fd);

/* It is about to be closed. */
void sdp_high_release(int fd);

#endif
