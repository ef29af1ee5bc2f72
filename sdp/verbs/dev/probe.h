/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Looks for devices; see way.h. */
#ifndef SDP_PROBE_H
#define SDP_PROBE_H

/* From now on, forked children report no way if this process uses
 * SDP_WAY_CM. */
void sdp_probe_use_cm(void);

void sdp_probe_fork_child(void);

#endif
