/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Moving a connection to the next carrier (doc/spec/sdp.md 3.4).
 */
#ifndef SDP_MOVE_H
#define SDP_MOVE_H

#include "conn/state.h"

/* SuspComm and SuspCommAck were exchanged. No message follows on this
 * carrier. */
void sdp_move_suspend(struct sdp_conn *conn);

#endif
