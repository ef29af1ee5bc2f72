/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Direct verbs of usiw. They are looked up at run time, so that libsdp.so also
 * loads where only hardware drivers are installed. */
#ifndef SDP_USIWDV_H
#define SDP_USIWDV_H

/* Return: NULL: the symbol does not exist. */
void *sdp_usiwdv_symbol(const char *name);

#endif
