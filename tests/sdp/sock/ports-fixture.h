/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Destinations of connect(): a program's port, its SDP port, and a port that
 * refuses. */
#ifndef PORTS_FIXTURE_H
#define PORTS_FIXTURE_H

#include "sock/base/addr.h"
#include "loopback.h"

enum port { TCP_PORT, SDP_PORT, CLOSED_PORT, PORT_CNT };

static int listeners[PORT_CNT];
static union sdp_addr addrs[PORT_CNT];

static inline void ports_open(void)
{
	for (int i = 0; i < PORT_CNT; i++) {
		listeners[i] = test_tcp_socket();
		test_tcp_bind(listeners[i], &addrs[i].in);
		/* A bound port without a listener refuses. */
		if (i != CLOSED_PORT)
			assert_int_equal(listen(listeners[i], 8), 0);
	}
}

static inline void ports_close(void)
{
	for (int i = 0; i < PORT_CNT; i++)
		close(listeners[i]);
}

/* The port that a socket is connected to; PORT_CNT: none. */
static inline enum port port_of(int fd)
{
	union sdp_addr peer;
	socklen_t len = sizeof(peer);
	int port = 0;

	if (getpeername(fd, &peer.sa, &len) < 0)
		return PORT_CNT;
	while (port < PORT_CNT && addrs[port].in.sin_port != peer.in.sin_port)
		port++;
	return (enum port)port;
}

#endif
