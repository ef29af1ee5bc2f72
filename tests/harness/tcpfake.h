/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A TCP that accepts and returns little, is often not ready, and fails at a
 * given call.  rnic_tcp_replace() puts it under the RNIC.
 */
#ifndef TCPFAKE_H
#define TCPFAKE_H

#include <stddef.h>

struct tcpfake_plan {
	size_t recv_max; /* octets per call; 0: no limit */
	size_t send_max;
	unsigned eagain_every; /* each n-th call returns EAGAIN; 0: none */
	unsigned eagain_at;    /* only the n-th call */
	int fd;		       /* only calls on this descriptor; -1: all */
	unsigned recv_fail_at; /* the n-th recv fails with @err; 0: none */
	unsigned send_fail_at;
	int err;
};

/* Replaces the socket calls and resets the counts. */
void tcpfake_install(const struct tcpfake_plan *plan);
void tcpfake_remove(void);

/* Number of calls since tcpfake_install(). */
unsigned tcpfake_recv_cnt(void);
unsigned tcpfake_send_cnt(void);

#endif
