/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Stubs that are used by another file. */
#ifndef SDP_PRELOAD_STUBS_H
#define SDP_PRELOAD_STUBS_H

#define EXPORT __attribute__((visibility("default")))

/* socket() and epoll_create1() for the code at @caller. */
int sdp_stub_socket(int domain, int type, int protocol, const void *caller);
int sdp_stub_epoll(int flags, const void *caller);

#endif
