/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Reports the order that a TCP connection creates to ThreadSanitizer: accesses
 * of one end before it sent happen before accesses of the other end after it
 * received. If both ends are in one process, the sanitizer cannot see that
 * order, and would report memory that the peer accesses as a race. Without the
 * sanitizer these functions do nothing.
 */
#ifndef TCPORDER_H
#define TCPORDER_H

/* The two ends of a connection. Replaces the socket calls of the RNIC. */
void tcporder_join(int fd_a, int fd_b);

#endif
