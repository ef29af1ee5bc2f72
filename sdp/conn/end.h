/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * How a connection ends (doc/spec/sdp.md 2.E).
 */
#ifndef SDP_END_H
#define SDP_END_H

#include "conn/state.h"

/* Starts an abortive close. Only the first fault is recorded. */
void sdp_end_fail(struct sdp_conn *conn, enum sdp_fault fault);

/* Checks whether both DisConns are done, and which side ends the carrier. */
void sdp_end_check(struct sdp_conn *conn);

/* A DisConn was received. */
void sdp_end_on_discon(struct sdp_conn *conn);

#endif
