/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See name.h. */
#include "name.h"

#include <arpa/inet.h>
#include <stdio.h>

const char *link_name_str(const struct sockaddr *name, char buf[LINK_NAME_MAX])
{
	const struct sockaddr_in6 *in6 = (const void *)name;
	const struct sockaddr_in *in = (const void *)name;
	char ip[INET6_ADDRSTRLEN] = "?";

	if (name && name->sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &in6->sin6_addr, ip, sizeof(ip));
		snprintf(buf, LINK_NAME_MAX, "[%s]:%u", ip,
			 ntohs(in6->sin6_port));
	} else if (name && name->sa_family == AF_INET) {
		inet_ntop(AF_INET, &in->sin_addr, ip, sizeof(ip));
		snprintf(buf, LINK_NAME_MAX, "%s:%u", ip, ntohs(in->sin_port));
	} else {
		snprintf(buf, LINK_NAME_MAX, "?");
	}
	return buf;
}
