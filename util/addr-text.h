/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* IP addresses in log lines. */
#ifndef UTIL_ADDR_TEXT_H
#define UTIL_ADDR_TEXT_H

#include <sys/socket.h>

/* "192.0.2.1 port 4791", "fe80::1%3 port 4791" with the index of the interface.
 * Return: @buf. */
#define UTIL_ADDR_TEXT_LEN 80
const char *util_addr_text(const struct sockaddr_storage *addr,
			   char buf[UTIL_ADDR_TEXT_LEN]);
#define UTIL_ADDR_TEXT(addr)                                                   \
	util_addr_text(addr, (char[UTIL_ADDR_TEXT_LEN]){ 0 })

/* " from 192.0.2.1 port 4791 to 192.0.2.2 port 7"; an address that is not known
 * (AF_UNSPEC) is left out.  Return: @buf. */
#define UTIL_ADDR_PAIR_TEXT_LEN (2 * UTIL_ADDR_TEXT_LEN)
const char *util_addr_pair_text(const struct sockaddr_storage *local,
				const struct sockaddr_storage *peer,
				char buf[UTIL_ADDR_PAIR_TEXT_LEN]);
#define UTIL_ADDR_PAIR_TEXT(local, peer)                                       \
	util_addr_pair_text(local, peer, (char[UTIL_ADDR_PAIR_TEXT_LEN]){ 0 })

#endif
