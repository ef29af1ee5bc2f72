/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * From one carrier to the next (doc/spec/sdp.md 3.4).
 */
#ifndef SDP_MOVE_H
#define SDP_MOVE_H

#include "conn/state.h"

/* SuspComm and its answer are through: no message follows on this carrier. */
void sdp_move_suspend(struct sdp_conn *conn);

#endif
