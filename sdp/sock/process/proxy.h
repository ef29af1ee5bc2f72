/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * For sockets that code outside the library reads and writes: libc's stdio, and
 * a program started by execve(). If nothing was sent on the connection yet, a
 * process of the library, the proxy, takes it and relays the octets (relay.h).
 * From then on the program's number is an ordinary stream of the kernel. So it
 * works for every holder: after exec(), after the end of this process, and for
 * what stdio writes at the end of exit().
 */
#ifndef SDP_SOCK_PROXY_H
#define SDP_SOCK_PROXY_H

#include "sock/base/table.h"

/* Numbers that stdio uses without opening them. */
#define SDP_STDIO_MAX 2

/* Code outside the library will use @fd, which may be any descriptor: makes it
 * a stream of the kernel. Keeps errno. */
void sdp_proxy_stdio(int fd);

/* The same for the standard streams that the program inherited. */
void sdp_proxy_inherited(void);

/* Runs @run(@arg) in a child that is nobody's child, and then ends it. Return:
 * 0; -EAGAIN: there is none. */
int sdp_proxy_fork(void (*run)(void *arg), void *arg);

/* In such a child: gives up the program's session, name and descriptors, except
 * @keep and those of the library; -1: none. The program's pipes must end when
 * the program ends. */
void sdp_proxy_part(int keep);

#endif
