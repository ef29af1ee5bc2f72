/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * IP packets of tests/vectors/roce.h in their parts.
 */
#ifndef TEST_ROCEPACKET_H
#define TEST_ROCEPACKET_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hex.h"
#include "roce.h"
#include "siw-ib.h"

static inline uint16_t roce_get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* The headers of IP and UDP become @path, and their payload is @buf. Returns
 * its length. */
static inline size_t roce_unpack(const struct roce_vector *v,
				 struct sib_path *path, uint8_t *buf,
				 size_t size)
{
	uint8_t ip[600];
	size_t len = test_unhex(v->hex, ip, sizeof(ip));
	bool is_ipv6 = ip[0] >> 4 == 6;
	size_t head = is_ipv6 ? 48 : 28;

	if (len < head || len - head > size)
		abort();
	memset(path, 0, sizeof(*path));
	sib_gid_from_ip(ip + (is_ipv6 ? 8 : 12), is_ipv6 ? 16 : 4, &path->src);
	sib_gid_from_ip(ip + (is_ipv6 ? 24 : 16), is_ipv6 ? 16 : 4, &path->dst);
	path->src_port = roce_get16(ip + head - 8);
	path->dst_port = roce_get16(ip + head - 6);
	if (is_ipv6) {
		path->tclass = (uint8_t)(roce_get16(ip) >> 4);
		path->flow_label = (ip[1] & 0xfu) << 16 | roce_get16(ip + 2);
		path->hop_limit = ip[7];
	} else {
		path->tclass = ip[1];
		path->ip_id = roce_get16(ip + 4);
		path->hop_limit = ip[8];
	}
	memcpy(buf, ip + head, len - head);
	return len - head;
}

#endif
