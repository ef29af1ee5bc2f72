/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Modes of a half-connection: what each allows, and which changes there are
 * (doc/spec/sdp.md 3.2, 3.3).
 */
#ifndef SDP_MODE_H
#define SDP_MODE_H

#include <stdbool.h>

#include "msg/msg.h"

/* Outstanding SrcAvails that the mode allows; UINT_MAX: as many as
 * MaxAdverts allows. */
unsigned int sdp_mode_src_avail_max(enum sdp_mode mode);

/* SinkAvails, and so RDMA Writes and Transactions. */
bool sdp_mode_has_sink_avail(enum sdp_mode mode);

/* Whether a SrcAvail has payload in it: it must, or it must not. */
bool sdp_mode_has_inline(enum sdp_mode mode);

/* Whether the half's Data Source (else its Data Sink) may make the change
 * by a ModeChange (SDP-213, SDP-214). */
bool sdp_mode_may_change(enum sdp_mode from, enum sdp_mode to, bool by_source);

#endif
