/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Direct verbs of usiw, looked up at run time: the library loads beside
 * hardware without them. */
#ifndef SDP_DIRECT_H
#define SDP_DIRECT_H

/* How the names of devices begin that have them. */
#define SDP_DIRECT_DEVICE "usiw_"

/* NULL: there is none. */
void *sdp_direct_symbol(const char *name);

#endif
