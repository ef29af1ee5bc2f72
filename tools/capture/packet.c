/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The headers of IP, TCP and UDP. */
#include "packet.h"

#include <endian.h>
#include <netinet/in.h>
#include <string.h>

#include "util/v4-mapped.h"

#define IPV4_SIZE 20u
#define IPV6_SIZE 40u
#define TCP_SIZE 20u
#define UDP_SIZE 8u
#define IPV4_DF 0x4000u
#define HOP_LIMIT 64u
/* With this scale the window holds more than a program posts. */
#define WINDOW 0xffffu
#define WINDOW_SCALE 14u

/* What IP says of a packet. */
struct ip {
	const struct packet_end *from, *to;
	uint8_t protocol, tclass, hop_limit;
	uint16_t id;
	uint32_t flow_label;
	size_t len; /* behind the header */
};

static uint8_t *put16(uint8_t *p, uint16_t value)
{
	value = htobe16(value);
	memcpy(p, &value, sizeof(value));
	return p + sizeof(value);
}

static uint8_t *put32(uint8_t *p, uint32_t value)
{
	value = htobe32(value);
	memcpy(p, &value, sizeof(value));
	return p + sizeof(value);
}

/* ---- checksums (RFC 1071) ------------------------------------------------ */

/* Only the last piece of a sum may have an odd number of octets. */
static uint64_t sum_add(uint64_t sum, const uint8_t *p, size_t len)
{
	uint32_t word;

	for (; len >= sizeof(word); len -= sizeof(word), p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		sum += word;
	}
	word = 0;
	if (len)
		memcpy(&word, p, len);
	return sum + word;
}

/* In the order of memory. */
static uint16_t sum_fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum >> 16) + (sum & 0xffff);
	return (uint16_t)sum;
}

/* At @field, which is 0, over @head_len octets at @head and the payload. */
static void checksum_put(uint8_t *field, const struct ip *ip,
			 const uint8_t *head, size_t head_len,
			 const struct packet_payload *payload)
{
	const uint32_t words[2] = { htobe32((uint32_t)ip->len),
				    htobe32(ip->protocol) };
	uint64_t sum = sum_add(0, (const uint8_t *)words, sizeof(words));
	bool is_ipv4 = util_v4_is_mapped(ip->to->addr);
	size_t skip = is_ipv4 ? 12 : 0;
	uint16_t value;

	sum = sum_add(sum, ip->from->addr + skip, 16 - skip);
	sum = sum_add(sum, ip->to->addr + skip, 16 - skip);
	if (payload->kept == payload->len) {
		sum = sum_add(sum, head, head_len);
		sum = sum_add(sum, payload->octets, payload->len);
		value = (uint16_t)~sum_fold(sum);
		if (!value && ip->protocol == IPPROTO_UDP)
			value = 0xffff; /* 0: there is none */
	} else {
		value = sum_fold(sum);
	}
	memcpy(field, &value, sizeof(value));
}

/* ---- IP ------------------------------------------------------------------ */

static uint8_t *ipv4_put(uint8_t *out, const struct ip *ip)
{
	uint8_t *p = out;
	uint16_t sum;

	*p++ = 0x45;
	*p++ = ip->tclass;
	p = put16(p, (uint16_t)(IPV4_SIZE + ip->len));
	p = put16(p, ip->id);
	p = put16(p, IPV4_DF);
	*p++ = ip->hop_limit;
	*p++ = ip->protocol;
	p = put16(p, 0);
	memcpy(p, ip->from->addr + 12, 4);
	memcpy(p + 4, ip->to->addr + 12, 4);
	sum = (uint16_t)~sum_fold(sum_add(0, out, IPV4_SIZE));
	memcpy(out + 10, &sum, sizeof(sum));
	return out + IPV4_SIZE;
}

static uint8_t *ipv6_put(uint8_t *p, const struct ip *ip)
{
	p = put32(p, 6u << 28 | (uint32_t)ip->tclass << 20 |
			     (ip->flow_label & 0xfffff));
	p = put16(p, (uint16_t)ip->len);
	*p++ = ip->protocol;
	*p++ = ip->hop_limit;
	memcpy(p, ip->from->addr, 16);
	memcpy(p + 16, ip->to->addr, 16);
	return p + 32;
}

static uint8_t *ip_put(uint8_t *p, const struct ip *ip)
{
	return util_v4_is_mapped(ip->to->addr) ? ipv4_put(p, ip)
					       : ipv6_put(p, ip);
}

/* ---- TCP and UDP --------------------------------------------------------- */

static uint8_t *syn_options_put(uint8_t *p)
{
	*p++ = 2; /* MSS */
	*p++ = 4;
	p = put16(p, PACKET_TCP_MAX);
	*p++ = 1; /* nothing */
	*p++ = 3; /* window scale */
	*p++ = 3;
	*p++ = WINDOW_SCALE;
	return p;
}

size_t packet_tcp_put(uint8_t out[PACKET_HEAD_MAX],
		      const struct packet_tcp *tcp,
		      const struct packet_payload *payload)
{
	bool is_syn = tcp->flags & PACKET_SYN;
	size_t head_len = TCP_SIZE + (is_syn ? 8 : 0);
	const struct ip ip = {
		.from = &tcp->from,
		.to = &tcp->to,
		.protocol = IPPROTO_TCP,
		.hop_limit = HOP_LIMIT,
		.len = head_len + payload->len,
	};
	uint8_t *head = ip_put(out, &ip), *p = head;

	p = put16(p, tcp->from.port);
	p = put16(p, tcp->to.port);
	p = put32(p, tcp->seq);
	p = put32(p, tcp->ack);
	*p++ = (uint8_t)(head_len / 4 << 4);
	*p++ = tcp->flags;
	p = put16(p, WINDOW);
	p = put32(p, 0); /* checksum, urgent pointer */
	if (is_syn)
		p = syn_options_put(p);
	checksum_put(head + 16, &ip, head, head_len, payload);
	return (size_t)(p - out);
}

size_t packet_udp_put(uint8_t out[PACKET_HEAD_MAX],
		      const struct packet_udp *udp,
		      const struct packet_payload *payload)
{
	const struct ip ip = {
		.from = &udp->from,
		.to = &udp->to,
		.protocol = IPPROTO_UDP,
		.tclass = udp->tclass,
		.hop_limit = udp->hop_limit,
		.id = udp->ip_id,
		.flow_label = udp->flow_label,
		.len = UDP_SIZE + payload->len,
	};
	uint8_t *head = ip_put(out, &ip), *p = head;

	p = put16(p, udp->from.port);
	p = put16(p, udp->to.port);
	p = put16(p, (uint16_t)ip.len);
	p = put16(p, 0);
	checksum_put(head + 6, &ip, head, UDP_SIZE, payload);
	return (size_t)(p - out);
}
