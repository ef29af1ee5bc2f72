/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The part of sdp_point_enter() and similar functions that sleeping threads
 * need. */
#ifndef SDP_POINT_H
#define SDP_POINT_H

/* The calling thread is the only one. */
void sdp_point_forget(void);

#endif
