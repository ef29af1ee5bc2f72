/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A socket that others than the library read and write: libc's own stdio, and
 * what an execve() brings.  Where nothing was said on it yet, a process of the
 * library's own, the proxy, takes the connection and relays (relay.h).  The
 * program's number is the kernel's from then on, so it is good for every
 * holder: over exec(), after the end of this process, and for what stdio
 * writes at its very end.
 */
#ifndef SDP_SOCK_PROXY_H
#define SDP_SOCK_PROXY_H

#include "table.h"

/* Numbers that stdio uses as it finds them. */
#define SDP_STDIO_MAX 2

/* Code that we do not see is to use @fd, of any kind: a stream of the
 * kernel's from now on.  Keeps errno. */
void sdp_proxy_stdio(int fd);

/* The same for the standard streams that the program was started with. */
void sdp_proxy_inherited(void);

#endif
