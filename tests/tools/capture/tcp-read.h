/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* TCP segments that tests find in a file. */
#ifndef TEST_TCP_READ_H
#define TEST_TCP_READ_H

#include "pcapng-read.h"

/* Over IPv4. */
struct read_tcp {
	struct read_block block;
	uint16_t from, to; /* ports */
	uint32_t seq, ack;
	uint8_t flags;
	uint32_t len; /* of the payload that there was */
	const uint8_t *payload;
	uint32_t kept;
};

static inline uint32_t read32_be(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

/* The next packet; blocks of other types are passed over.  Return: false: there
 * is none. */
static inline bool read_tcp(const struct pcapng *file, size_t *at,
			    struct read_tcp *ret)
{
	const uint8_t *ip, *tcp;
	uint32_t head;

	do {
		if (!read_next(file, at, &ret->block))
			return false;
	} while (ret->block.type != READ_PACKET);
	ip = ret->block.body + 20;
	assert_int_equal(ip[0], 0x45);
	assert_int_equal(ip[9], 6);
	tcp = ip + 20;
	head = 20 + (tcp[12] >> 4) * 4u;
	ret->from = (uint16_t)(tcp[0] << 8 | tcp[1]);
	ret->to = (uint16_t)(tcp[2] << 8 | tcp[3]);
	ret->seq = read32_be(tcp + 4);
	ret->ack = read32_be(tcp + 8);
	ret->flags = tcp[13];
	ret->len = read32(ret->block.body + 16) - head;
	assert_int_equal(ip[2] << 8 | ip[3], head + ret->len);
	ret->payload = ip + head;
	ret->kept = read32(ret->block.body + 12) - head;
	return true;
}

static inline size_t read_tcp_all(const struct pcapng *file,
				  struct read_tcp *all, size_t max)
{
	size_t at = 0, cnt = 0;

	while (cnt < max && read_tcp(file, &at, &all[cnt]))
		cnt++;
	return cnt;
}

#endif
