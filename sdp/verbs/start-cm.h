/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Functions of the rdma_cm carriers for other files. */
#ifndef SDP_START_CM_H
#define SDP_START_CM_H

/* move() of struct sdp_link, for a peer that started by rdma_cm. */
void *sdp_move_cm(void *link);

#endif
