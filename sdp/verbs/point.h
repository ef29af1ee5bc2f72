/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The part of the sleeping threads for sdp_point_enter() and similar functions.
 */
#ifndef SDP_POINT_H
#define SDP_POINT_H

/* The calling thread is the only one. */
void sdp_point_forget(void);

#endif
