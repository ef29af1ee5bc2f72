/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The 40 octets before the payload of a receive.
 */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "hex.h"
#include "roce.h"
#include "rocepacket.h"
#include "siw-ib.h"

CASE(is_what_rxe_shows)
{
	unsigned int cnt[2] = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(roce_vectors); i++) {
		const struct roce_vector *v = &roce_vectors[i];
		struct sib_path path;
		uint8_t buf[512], out[40], want[40];
		size_t len = roce_unpack(v, &path, buf, sizeof(buf));

		if (!v->grh)
			continue;
		test_unhex(v->grh, want, sizeof(want));
		assert_row(v->name,
			   sib_grh_encode(&path, len, out, sizeof(out)) == 40);
		assert_row(v->name, !memcmp(out, want, sizeof(out)));
		cnt[sib_gid_is_ipv4(&path.dst)]++;
	}
	assert_true(cnt[0] && cnt[1]);
}

/* rxe's own packets went through the kernel's IP, which made their checksum. */
CASE(has_the_header_that_was_on_the_wire)
{
	for (size_t i = 0; i < ARRAY_LEN(roce_vectors); i++) {
		const struct roce_vector *v = &roce_vectors[i];
		struct sib_path path;
		uint8_t buf[512], ip[512], out[40] = { 0 }, zero[20] = { 0 };
		size_t len = roce_unpack(v, &path, buf, sizeof(buf));

		test_unhex(v->hex, ip, sizeof(ip));
		sib_grh_encode(&path, len, out, sizeof(out));
		if (sib_gid_is_ipv4(&path.dst)) {
			assert_row(v->name, !memcmp(out + 20, ip, 20));
			assert_row(v->name, !memcmp(out, zero, 20));
		} else {
			assert_row(v->name, !memcmp(out, ip, 40));
		}
	}
}

CASE(refuses_what_does_not_fit)
{
	struct sib_path path = { .flow_label = 0xfffff };
	uint8_t out[40];

	assert_int_equal(sib_grh_encode(&path, 65507, out, 40), 40);
	assert_int_equal(sib_grh_encode(&path, 65508, out, 40), -EINVAL);
	assert_int_equal(sib_grh_encode(&path, 16, out, 39), -EMSGSIZE);
	path.flow_label++;
	assert_int_equal(sib_grh_encode(&path, 16, out, 40), -EINVAL);
}

CASE(names_both_ends)
{
	for (size_t i = 0; i < ARRAY_LEN(roce_vectors); i++) {
		const struct roce_vector *v = &roce_vectors[i];
		struct sib_gid src, dst;
		struct sib_path path;
		uint8_t buf[512], out[40];
		size_t len = roce_unpack(v, &path, buf, sizeof(buf));

		sib_grh_encode(&path, len, out, sizeof(out));
		assert_row(v->name, sib_grh_gids(out, &src, &dst));
		assert_row(v->name, !memcmp(&src, &path.src, sizeof(src)));
		assert_row(v->name, !memcmp(&dst, &path.dst, sizeof(dst)));
	}
}

CASE(decodes_to_the_headers)
{
	for (size_t i = 0; i < ARRAY_LEN(roce_vectors); i++) {
		const struct roce_vector *v = &roce_vectors[i];
		struct sib_path path, again;
		uint8_t buf[512], out[40];
		size_t len = roce_unpack(v, &path, buf, sizeof(buf));

		sib_grh_encode(&path, len, out, sizeof(out));
		assert_row(v->name, sib_grh_decode(out, &again));
		path.src_port = 0;
		path.dst_port = 0;
		if (!sib_gid_is_ipv4(&path.dst))
			path.ip_id = 0;
		assert_row(v->name, !memcmp(&path.src, &again.src, 16) &&
					    !memcmp(&path.dst, &again.dst, 16));
		assert_row(v->name, again.tclass == path.tclass);
		assert_row(v->name, again.hop_limit == path.hop_limit);
		assert_row(v->name, again.ip_id == path.ip_id);
		assert_row(v->name, again.flow_label == path.flow_label);
	}
}

/* Octets before the header of IPv4, and its first one. */
CASE(refuses_what_is_no_header)
{
	uint8_t grh[SIB_GRH_SIZE] = { [20] = 0x45 };
	struct sib_gid src, dst;
	struct sib_path path;

	assert_true(sib_grh_gids(grh, &src, &dst));
	assert_true(sib_grh_decode(grh, &path));
	for (size_t i = 0; i <= 20; i++) {
		uint8_t octet = grh[i];

		grh[i] = i ? 0x46 : 0x75;
		assert_false(sib_grh_gids(grh, &src, &dst));
		assert_false(sib_grh_decode(grh, &path));
		grh[i] = octet;
	}
}
