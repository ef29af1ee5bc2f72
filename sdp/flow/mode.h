/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Modes of a half-connection: what each mode allows, and the transitions
 * between them (doc/spec/sdp.md 3.2, 3.3).
 */
#ifndef SDP_MODE_H
#define SDP_MODE_H

#include <stdbool.h>

#include "msg/msg.h"

/* Maximum number of outstanding SrcAvails in the mode; UINT_MAX: limited by
 * MaxAdverts only. */
unsigned int sdp_mode_src_avail_max(enum sdp_mode mode);

/* Whether the mode allows SinkAvails, and with them RDMA Writes and
 * Transactions. */
bool sdp_mode_has_sink_avail(enum sdp_mode mode);

/* Whether a SrcAvail must have payload (true) or must not (false). */
bool sdp_mode_has_inline(enum sdp_mode mode);

/* Whether a ModeChange may make this transition (SDP-213, SDP-214). @by_source:
 * it is sent by the half's Data Source, otherwise by its Data Sink. */
bool sdp_mode_may_change(enum sdp_mode from, enum sdp_mode to, bool by_source);

#endif
