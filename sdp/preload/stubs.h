/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Stubs that are used by another file. */
#ifndef SDP_PRELOAD_STUBS_H
#define SDP_PRELOAD_STUBS_H

#include <stdbool.h>

#include "util/fdtab.h"

#define EXPORT __attribute__((visibility("default")))

/* libc's function that ends a program before it would overflow its buffer. */
__attribute__((noreturn)) void __chk_fail(void);

struct sdp_sock;

/* A short call that is about a descriptor: what the socket is does not change
 * meanwhile. */
struct sdp_stub_brief {
	struct sdp_sock *sock; /* NULL: not in the table */
	struct util_fd_pin pin;
	bool is_held;
};

void sdp_stub_begin(struct sdp_stub_brief *brief, int fd);
int sdp_stub_end(const struct sdp_stub_brief *brief, int ret); /* @ret */

/* Before a call that replaces the program. */
void sdp_stub_exec(void);

/* socket() and epoll_create1() for the code at @caller. */
int sdp_stub_socket(int domain, int type, int protocol, const void *caller);
int sdp_stub_epoll(int flags, const void *caller);

#endif
