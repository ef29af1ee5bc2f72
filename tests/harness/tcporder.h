/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Tells ThreadSanitizer the order that a TCP connection creates: accesses of
 * one end before it sent happen before accesses of the other end after it
 * received. When both ends are in one process the sanitizer does not know that
 * order, and reports memory that the peer reads and writes as a race.  Without
 * the sanitizer these functions do nothing.
 */
#ifndef TCPORDER_H
#define TCPORDER_H

/* The two ends of a connection; replaces the socket calls of the RNIC. */
void tcporder_join(int fd_a, int fd_b);

#endif
