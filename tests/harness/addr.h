/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Socket addresses from text.
 */
#ifndef TEST_ADDR_H
#define TEST_ADDR_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* @text is an IPv6 or an IPv4 address, @port in host order. */
static inline struct sockaddr_storage test_addr(const char *text, uint16_t port)
{
	struct sockaddr_storage addr;
	struct sockaddr_in6 *in6 = (void *)&addr;
	struct sockaddr_in *in = (void *)&addr;

	memset(&addr, 0, sizeof(addr));
	if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		return addr;
	}
	if (inet_pton(AF_INET, text, &in->sin_addr) != 1)
		abort();
	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	return addr;
}

#endif
