/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The headers of IP, TCP and UDP in front of octets that have travelled without
 * them, or in other packets.  Pure.
 */
#ifndef PACKET_H
#define PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most octets of headers. */
#define PACKET_HEAD_MAX 68u
/* Most payload of a TCP segment, over IPv4 and IPv6. */
#define PACKET_TCP_MAX 65495u

enum packet_tcp_flags {
	PACKET_FIN = 0x01,
	PACKET_SYN = 0x02,
	PACKET_PSH = 0x08,
	PACKET_ACK = 0x10,
};

/* An address is 16 octets; ::ffff:a.b.c.d is IPv4.  The packet is IPv4 if the
 * destination is. */
struct packet_end {
	uint8_t addr[16];
	uint16_t port;
};

struct packet_payload {
	const uint8_t *octets;
	size_t kept; /* octets that are there */
	size_t len;  /* all that there were */
};

struct packet_tcp {
	struct packet_end from, to;
	uint32_t seq, ack;
	uint8_t flags; /* SYN: with MSS and window scale */
};

struct packet_udp {
	struct packet_end from, to;
	uint8_t tclass, hop_limit;
	uint16_t ip_id;
	uint32_t flow_label;
};

/*
 * Write the headers.  Checksums are right if all of the payload is there; else
 * that of TCP or UDP is the one of the pseudo header, as in packets whose
 * checksum a network adapter computes.
 * @payload: at most PACKET_TCP_MAX octets.
 * Return: octets of headers.
 */
size_t packet_tcp_put(uint8_t out[PACKET_HEAD_MAX],
		      const struct packet_tcp *tcp,
		      const struct packet_payload *payload);
size_t packet_udp_put(uint8_t out[PACKET_HEAD_MAX],
		      const struct packet_udp *udp,
		      const struct packet_payload *payload);

#endif
