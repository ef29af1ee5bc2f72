/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A name of a link's end: an address of IPv4 or IPv6, with a port. */
#ifndef SDP_VERBS_NAME_H
#define SDP_VERBS_NAME_H

#include <netinet/in.h>

/* Room for a name as text. */
#define LINK_NAME_MAX (INET6_ADDRSTRLEN + 10)

static inline socklen_t link_name_len(const struct sockaddr *name)
{
	return name->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					   : sizeof(struct sockaddr_in);
}

static inline void link_name_set_port(struct sockaddr_storage *name,
				      uint16_t port)
{
	if (name->ss_family == AF_INET6)
		((struct sockaddr_in6 *)name)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)name)->sin_port = htons(port);
}

/* For the log; "?" for NULL and for a name that is not known. Return: @buf. */
const char *link_name_str(const struct sockaddr *name, char buf[LINK_NAME_MAX]);

#endif
