/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the carriers by rdma_cm give to others. */
#ifndef SDP_START_CM_H
#define SDP_START_CM_H

/* struct sdp_link's move(), for a peer that began by rdma_cm. */
void *sdp_move_cm(void *link);

#endif
