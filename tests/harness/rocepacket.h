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

static inline bool roce_is_same_hdr(const struct sib_hdr *a,
				    const struct sib_hdr *b)
{
	return a->opcode == b->opcode && a->is_solicited == b->is_solicited &&
	       a->is_migrated == b->is_migrated &&
	       a->wants_ack == b->wants_ack && a->is_fecn == b->is_fecn &&
	       a->is_becn == b->is_becn && a->pkey == b->pkey &&
	       a->dest_qpn == b->dest_qpn && a->psn == b->psn &&
	       a->eecn == b->eecn && a->qkey == b->qkey &&
	       a->src_qpn == b->src_qpn && a->srqn == b->srqn &&
	       a->va == b->va && a->rkey == b->rkey &&
	       a->dma_len == b->dma_len && a->swap_add == b->swap_add &&
	       a->compare == b->compare && a->syndrome == b->syndrome &&
	       a->msn == b->msn && a->original == b->original &&
	       a->imm_be == b->imm_be && a->inv_rkey == b->inv_rkey &&
	       a->selectivity == b->selectivity && a->placement == b->placement;
}

#endif
