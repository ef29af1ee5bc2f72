/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Direct verbs of usiw. They are looked up at run time, so that libsdp.so also
 * loads where only hardware drivers are installed. */
#ifndef SDP_DIRECT_H
#define SDP_DIRECT_H

/* Return: NULL: the symbol does not exist. */
void *sdp_direct_symbol(const char *name);

#endif
