/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See addr-text.h. */
#include "addr-text.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>

const char *util_addr_text(const struct sockaddr_storage *addr,
			   char buf[UTIL_ADDR_TEXT_LEN])
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)addr;
	const struct sockaddr_in *in = (const struct sockaddr_in *)addr;
	bool is_ipv4 = addr->ss_family == AF_INET;
	char text[INET6_ADDRSTRLEN], scope[16] = "";

	if (addr->ss_family == AF_INET6 && in6->sin6_scope_id)
		snprintf(scope, sizeof(scope), "%%%u", in6->sin6_scope_id);
	if (!is_ipv4 && addr->ss_family != AF_INET6)
		snprintf(buf, UTIL_ADDR_TEXT_LEN, "an unknown address");
	else
		snprintf(buf, UTIL_ADDR_TEXT_LEN, "%s%s port %u",
			 inet_ntop(addr->ss_family,
				   is_ipv4 ? (const void *)&in->sin_addr
					   : &in6->sin6_addr,
				   text, sizeof(text)),
			 scope, ntohs(is_ipv4 ? in->sin_port : in6->sin6_port));
	return buf;
}

const char *util_addr_pair_text(const struct sockaddr_storage *local,
				const struct sockaddr_storage *peer,
				char buf[UTIL_ADDR_PAIR_TEXT_LEN])
{
	bool has_local = local->ss_family != AF_UNSPEC;
	bool has_peer = peer->ss_family != AF_UNSPEC;

	snprintf(buf, UTIL_ADDR_PAIR_TEXT_LEN, "%s%s%s%s",
		 has_local ? " from " : "",
		 has_local ? UTIL_ADDR_TEXT(local) : "", has_peer ? " to " : "",
		 has_peer ? UTIL_ADDR_TEXT(peer) : "");
	return buf;
}
