/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Packets of RoCEv2 and MADs of connection management: what is accepted stays
 * within its octets, and its encoding decodes to the same.
 */
#include "fuzz.h"

#include <string.h>

#include "siw-ib.h"

static bool is_inside(const uint8_t *part, size_t part_len, const uint8_t *buf,
		      size_t len)
{
	return part >= buf && part_len <= len &&
	       (size_t)(part - buf) <= len - part_len;
}

static void check_packet(const uint8_t *buf, size_t len)
{
	uint8_t first[SIB_HDR_MAX], second[SIB_HDR_MAX];
	const struct sib_op *op;
	struct sib_packet p, again;
	uint8_t *out;
	size_t size;
	int n;

	if (sib_packet_decode(buf, len, &p) != SIB_OK)
		return;
	op = sib_op(p.hdr.opcode);
	fuzz_assert(op);
	fuzz_assert(is_inside(p.payload, p.payload_len, buf, len));
	fuzz_assert(op->hdr_size + p.payload_len + p.pad_len + SIB_ICRC_SIZE ==
		    len);
	(void)sib_payload_check(p.hdr.opcode, p.payload_len, 1024);
	n = sib_hdr_encode(&p.hdr, p.payload_len, first, sizeof(first));
	if (n < 0) /* pad that no payload needs */
		return;
	fuzz_assert((size_t)n == op->hdr_size);
	size = (size_t)n + p.payload_len + (-p.payload_len & 3) + SIB_ICRC_SIZE;
	out = calloc(1, size);
	fuzz_assert(out);
	memcpy(out, first, (size_t)n);
	memcpy(out + n, p.payload, p.payload_len);
	fuzz_assert(sib_packet_decode(out, size, &again) == SIB_OK);
	fuzz_assert(again.payload_len == p.payload_len);
	fuzz_assert(sib_hdr_encode(&again.hdr, again.payload_len, second,
				   sizeof(second)) == n);
	fuzz_assert(!memcmp(first, second, (size_t)n));
	free(out);
}

static void check_sidr_req(const uint8_t *buf, size_t len)
{
	uint8_t first[SIB_MAD_SIZE], second[SIB_MAD_SIZE], ip_out[64];
	struct sib_sidr_req req, again;
	struct sib_ip_cm ip;

	if (sib_sidr_req_decode(buf, len, &req) != SIB_OK)
		return;
	fuzz_assert(is_inside(req.private_data, req.private_len, buf, len));
	if (sib_ip_cm_decode(req.private_data, req.private_len, &ip) == SIB_OK)
		(void)sib_ip_cm_encode(&ip, ip_out, sizeof(ip_out));
	fuzz_assert(sib_sidr_req_encode(&req, first, sizeof(first)) ==
		    (int)SIB_MAD_SIZE);
	fuzz_assert(sib_sidr_req_decode(first, sizeof(first), &again) ==
		    SIB_OK);
	fuzz_assert(sib_sidr_req_encode(&again, second, sizeof(second)) ==
		    (int)SIB_MAD_SIZE);
	fuzz_assert(!memcmp(first, second, sizeof(first)));
}

static void check_sidr_rep(const uint8_t *buf, size_t len)
{
	uint8_t first[SIB_MAD_SIZE], second[SIB_MAD_SIZE];
	struct sib_sidr_rep rep, again;

	if (sib_sidr_rep_decode(buf, len, &rep) != SIB_OK)
		return;
	fuzz_assert(is_inside(rep.private_data, rep.private_len, buf, len));
	fuzz_assert(is_inside(rep.info, rep.info_len, buf, len));
	fuzz_assert(sib_sidr_rep_encode(&rep, first, sizeof(first)) ==
		    (int)SIB_MAD_SIZE);
	fuzz_assert(sib_sidr_rep_decode(first, sizeof(first), &again) ==
		    SIB_OK);
	fuzz_assert(sib_sidr_rep_encode(&again, second, sizeof(second)) ==
		    (int)SIB_MAD_SIZE);
	fuzz_assert(!memcmp(first, second, sizeof(first)));
}

static void check_grh(const uint8_t *buf, size_t len)
{
	struct sib_path path = { .hop_limit = 1 };
	struct sib_gid src, dst;
	uint8_t grh[SIB_GRH_SIZE];

	if (len < SIB_GRH_SIZE || !sib_grh_gids(buf, &path.src, &path.dst))
		return;
	fuzz_assert(sib_grh_encode(&path, len & 0xff, grh, sizeof(grh)) ==
		    (int)SIB_GRH_SIZE);
	fuzz_assert(sib_grh_gids(grh, &src, &dst));
	/* An IPv6 header may have addresses that mean IPv4. */
	fuzz_assert(!memcmp(&dst, &path.dst, sizeof(dst)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *buf = malloc(size ? size : 1);
	struct sib_ip_cm ip;
	struct sib_cm cm;

	fuzz_assert(buf);
	memcpy(buf, data, size);
	check_packet(buf, size);
	(void)sib_cm_decode(buf, size, &cm);
	check_sidr_req(buf, size);
	check_sidr_rep(buf, size);
	check_grh(buf, size);
	(void)sib_ip_cm_decode(buf, size, &ip);
	free(buf);
	return 0;
}
