/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Pad and ICRC: a CRC over IP, UDP and InfiniBand headers and the payload, with
 * ones for what routers change (IBA 7.8.1, A17).
 */
#include <errno.h>
#include <string.h>

#include "crc32.h"
#include "include/siw-ib.h"
#include "ip.h"
#include "libsiw-mpa/wire.h"

#define LRH_SIZE 8u
#define COVERED_MAX (LRH_SIZE + SIB_IPV6_SIZE + SIB_UDP_SIZE + SIB_BTH_SIZE)
/* From Identification to the end of the UDP header. */
#define AFTER_IP_ID (16u + SIB_UDP_SIZE)

/* The IP header with ones for what routers change. */
static uint8_t *ip_put(uint8_t *ip, const struct sib_path *path, size_t len)
{
	uint8_t *end = sib_ip_put(ip, path, len);

	if (sib_gid_is_ipv4(&path->dst)) {
		ip[SIB_IPV4_TOS] = 0xff;
		ip[SIB_IPV4_TTL] = 0xff;
		wire_put16(ip + SIB_IPV4_CHECKSUM, 0xffff);
	} else {
		wire_put32(ip, 0x6fffffff); /* traffic class, flow label */
		ip[SIB_IPV6_HOP_LIMIT] = 0xff;
	}
	return end;
}

/* The CRC from the LRH, which RoCEv2 does not have and which counts as ones, to
 * BTH.  @len: UDP payload with ICRC. */
static uint32_t begin(const struct sib_path *path, const uint8_t *bth,
		      size_t len)
{
	uint8_t covered[COVERED_MAX], *p = covered;

	memset(p, 0xff, LRH_SIZE);
	p = ip_put(p + LRH_SIZE, path, len);
	p = wire_put16(p, path->src_port);
	p = wire_put16(p, path->dst_port);
	p = wire_put16(p, (uint16_t)(SIB_UDP_SIZE + len));
	p = wire_put16(p, 0xffff); /* checksum */
	memcpy(p, bth, SIB_BTH_SIZE);
	p[4] = 0xff; /* FECN, BECN, reserved */
	p += SIB_BTH_SIZE;
	return sib_crc32_update(0, covered, (size_t)(p - covered));
}

int sib_tail_encode(const struct sib_path *path, const struct iovec *iov,
		    size_t cnt, uint8_t *out, size_t size)
{
	static const uint8_t zeros[3];
	const uint8_t *head;
	const struct sib_op *op;
	size_t head_len, len = 0, pad;
	uint32_t crc;

	if (!cnt || iov[0].iov_len < SIB_BTH_SIZE)
		return -EINVAL;
	head = iov[0].iov_base;
	head_len = iov[0].iov_len;
	op = sib_op(head[0]);
	for (size_t i = 1; i < cnt; i++)
		if (__builtin_add_overflow(len, iov[i].iov_len, &len))
			return -EINVAL;
	pad = -len & 3;
	if (!op || head_len != op->hdr_size || pad != (head[1] >> 4 & 3) ||
	    len > SIB_UDP_PAYLOAD_MAX - head_len - SIB_TAIL_MAX)
		return -EINVAL;
	if (size < pad + SIB_ICRC_SIZE)
		return -EMSGSIZE;
	crc = begin(path, head, head_len + len + pad + SIB_ICRC_SIZE);
	crc = sib_crc32_update(crc, head + SIB_BTH_SIZE,
			       head_len - SIB_BTH_SIZE);
	for (size_t i = 1; i < cnt; i++)
		crc = sib_crc32_update(crc, iov[i].iov_base, iov[i].iov_len);
	memset(out, 0, pad);
	wire_put_crc(out + pad, sib_crc32_update(crc, zeros, pad));
	return (int)(pad + SIB_ICRC_SIZE);
}

/* a * b modulo the polynomial; bit 31 is x^0. */
static uint32_t mul(uint32_t a, uint32_t b)
{
	uint32_t r = 0;

	for (; a; a <<= 1) {
		r ^= b & -(a >> 31);
		b = b >> 1 ^ (SIB_CRC32_POLY & -(b & 1));
	}
	return r;
}

/* x^(-8 * 2^n): takes 2^n octets of zero off the end of what a CRC is of. */
static const uint32_t undo[16] = {
	0x6567cb95, 0xd7125358, 0x5b358fd3, 0x2e9bb40b, 0x12a59a49, 0x8df9403d,
	0x5139de12, 0xba340226, 0x29c45641, 0x12fbc105, 0xecd30c55, 0x3755ebd8,
	0x24ee460c, 0x23783fcf, 0x479933fc, 0xa39442a5,
};

enum sib_fault sib_icrc_check(const struct sib_path *path, const uint8_t *buf,
			      size_t len, uint16_t *ret_ip_id)
{
	struct sib_path first = *path;
	uint32_t diff;

	if (len < SIB_BTH_SIZE + SIB_ICRC_SIZE)
		return SIB_F_BTH_SHORT;
	if (len > SIB_UDP_PAYLOAD_MAX)
		return SIB_F_ICRC;
	first.ip_id = 0;
	diff = sib_crc32_update(begin(&first, buf, len), buf + SIB_BTH_SIZE,
				len - SIB_BTH_SIZE - SIB_ICRC_SIZE) ^
	       wire_get_crc(buf + len - SIB_ICRC_SIZE);
	if (diff && !sib_gid_is_ipv4(&path->dst))
		return SIB_F_ICRC;
	/* The difference is that of Identification, times x^(8 * octets from it
	 * to the end). */
	for (size_t n = AFTER_IP_ID + len - SIB_ICRC_SIZE, i = 0; diff && n;
	     n >>= 1, i++)
		if (n & 1)
			diff = mul(undo[i], diff);
	if (diff >> 16)
		return SIB_F_ICRC;
	*ret_ip_id = (uint16_t)(diff << 8 | diff >> 8);
	return SIB_OK;
}
