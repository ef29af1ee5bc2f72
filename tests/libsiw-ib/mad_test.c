/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The header of MADs.
 */
#include "test.h"

#include <string.h>

#include "roce.h"
#include "rocepacket.h"
#include "siw-ib.h"

/* A MAD of 256 octets, as rxe's udaddy sends it; returns it in @mad. */
static void sidr_req(uint8_t *mad)
{
	struct sib_sidr_req req = { .tid = 0x1122334455667788 };

	assert_int_equal(sib_sidr_req_encode(&req, mad, 256), 256);
}

CASE(reads_what_rxe_sends)
{
	unsigned int cnt = 0;

	for (size_t i = 0; i < ARRAY_LEN(roce_vectors); i++) {
		const struct roce_vector *v = &roce_vectors[i];
		struct sib_path path;
		struct sib_packet p;
		struct sib_cm cm;
		uint8_t buf[512];
		size_t len = roce_unpack(v, &path, buf, sizeof(buf));
		uint16_t attr = strstr(v->name, "SIDR_REQ") ? SIB_CM_SIDR_REQ
							    : SIB_CM_SIDR_REP;

		if (v->hdr.dest_qpn != SIB_QPN_GSI)
			continue;
		assert_int_equal(sib_packet_decode(buf, len, &p), SIB_OK);
		assert_row(v->name, p.hdr.qkey == SIB_QKEY_GSI);
		assert_row(v->name, p.hdr.src_qpn == SIB_QPN_GSI);
		assert_row(v->name, sib_cm_decode(p.payload, p.payload_len,
						  &cm) == SIB_OK);
		assert_row(v->name, cm.attr == attr);
		assert_row(v->name, cm.tid != 0);
		cnt++;
	}
	assert_int_equal(cnt, 3);
}

static const struct {
	size_t at;
	uint8_t right;
	enum sib_fault fault;
} fields[] = {
	{ 0, 1, SIB_F_MAD_BASE_VERSION },
	{ 1, 7, SIB_F_MAD_CLASS },
	{ 2, 2, SIB_F_MAD_CLASS_VERSION },
	{ 3, 3, SIB_F_MAD_METHOD },
};

CASE(says_which_field_is_wrong)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		for (unsigned int value = 0; value < 256; value++) {
			uint8_t mad[256];
			struct sib_cm cm = { .attr = 4711 };
			enum sib_fault fault;

			sidr_req(mad);
			assert_int_equal(mad[fields[i].at], fields[i].right);
			mad[fields[i].at] = (uint8_t)value;
			fault = sib_cm_decode(mad, sizeof(mad), &cm);
			assert_int_equal(fault, value == fields[i].right
							? SIB_OK
							: fields[i].fault);
			assert_int_equal(cm.attr, fault ? 4711 : 0x17);
		}
	}
}

CASE(refuses_other_lengths)
{
	uint8_t mad[257] = { 0 };
	struct sib_cm cm;

	sidr_req(mad);
	for (size_t len = 0; len <= sizeof(mad); len++)
		assert_int_equal(sib_cm_decode(mad, len, &cm),
				 len == 256 ? SIB_OK : SIB_F_MAD_LENGTH);
	assert_true(cm.tid == 0x1122334455667788);
}
