/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The order that a TCP connection makes, told to ThreadSanitizer: what one end
 * did before it sent happens before what the other does after it received.
 * Where both ends live in one process the sanitizer cannot see that by itself,
 * and takes memory that the peer reads and writes for a race.  Without the
 * sanitizer nothing happens here.
 */
#ifndef TCPORDER_H
#define TCPORDER_H

/* The two ends of a connection; replaces the socket calls of the RNIC. */
void tcporder_join(int fd_a, int fd_b);

#endif
