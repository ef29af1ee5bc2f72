/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What sdp_point_enter() and its kin need of the sleeping threads. */
#ifndef SDP_POINT_H
#define SDP_POINT_H

/* The calling thread is the only one. */
void sdp_point_forget(void);

#endif
