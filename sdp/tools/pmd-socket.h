/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sdp-pmd's UDP sockets.  A reply is sent from the address of the request,
 * because a client with a connected socket receives no other reply.
 */
#ifndef PMD_SOCKET_H
#define PMD_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct pmd_datagram {
	struct sockaddr_storage from;
	socklen_t from_len;
	struct sockaddr_storage to; /* without port */
	unsigned int ifindex;
	uint8_t octets[64]; /* longer datagrams are cut; they are not PM
			       messages */
	size_t len;
};

/* Binds to @addr, which includes the port. Return: the descriptor,
 * non-blocking; negative errno of socket() or bind(). */
int pmd_socket_open(const struct sockaddr *addr);

/* Return: 1; 0: no datagram; negative errno. */
int pmd_socket_recv(int fd, struct pmd_datagram *ret_datagram);

/* Replies to the sender of @request (SDP-257). Return: 0; negative errno. */
int pmd_socket_reply(int fd, const struct pmd_datagram *request,
		     const uint8_t *octets, size_t len);

/* Whether the datagram was sent to a loopback address. */
bool pmd_datagram_is_local(const struct pmd_datagram *datagram);

#endif
