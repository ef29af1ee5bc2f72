/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * SIDR_REQ and SIDR_REP: those between rxe's udaddy and user space, and what
 * does not fit.
 */
#include "test.h"

#include <errno.h>
#include <string.h>

#include "hex.h"
#include "roce.h"
#include "rocepacket.h"
#include "siw-ib.h"

/* Finds the vector whose name ends so, and its MAD. */
static void find(const char *end, uint8_t *ret_mad)
{
	for (size_t i = 0; i < ARRAY_LEN(roce_vectors); i++) {
		const char *at = strstr(roce_vectors[i].name, end);
		struct sib_path path;
		struct sib_packet p;
		uint8_t buf[512];
		size_t len;

		if (!at || strcmp(at, end))
			continue;
		len = roce_unpack(&roce_vectors[i], &path, buf, sizeof(buf));
		assert_int_equal(sib_packet_decode(buf, len, &p), SIB_OK);
		assert_int_equal(p.payload_len, 256);
		memcpy(ret_mad, p.payload, 256);
		return;
	}
	fail_msg("no vector %s", end);
}

CASE(reads_and_writes_a_request_of_rxe)
{
	uint8_t mad[256], out[256];
	struct sib_sidr_req r;

	find(", SIDR_REQ", mad);
	assert_int_equal(sib_sidr_req_decode(mad, 256, &r), SIB_OK);
	assert_true(r.tid == 0x0000000247f49280);
	assert_int_equal(r.request_id, 0x8092f447);
	assert_int_equal(r.pkey, 0xffff);
	assert_true(r.service_id == 0x01111c06);
	assert_ptr_equal(r.private_data, mad + 40);
	assert_int_equal(r.private_len, 216);
	assert_int_equal(sib_sidr_req_encode(&r, out, sizeof(out)), 256);
	assert_memory_equal(out, mad, 256);
}

static const struct {
	const char *end;
	struct sib_sidr_rep r;
} replies[] = {
	{ ", SIDR_REP",
	  { .tid = 0x1234567800001c06,
	    .request_id = 0x99,
	    .qpn = 0x2d,
	    .service_id = 0x01111c06,
	    .qkey = SIB_QKEY_RDMA_CM } },
	{ ", SIDR_REP, to rxe",
	  { .tid = 0x0000000247f49280,
	    .request_id = 0x8092f447,
	    .qpn = 0x123456,
	    .service_id = 0x01111c06,
	    .qkey = SIB_QKEY_RDMA_CM } },
};

CASE(reads_and_writes_replies_of_rxe_and_to_it)
{
	for (size_t i = 0; i < ARRAY_LEN(replies); i++) {
		const char *end = replies[i].end;
		const struct sib_sidr_rep *want = &replies[i].r;
		uint8_t mad[256], out[256];
		struct sib_sidr_rep r;

		find(end, mad);
		assert_row(end, sib_sidr_rep_decode(mad, 256, &r) == SIB_OK);
		assert_row(end, r.tid == want->tid &&
					r.request_id == want->request_id &&
					r.qpn == want->qpn &&
					r.service_id == want->service_id &&
					r.qkey == want->qkey);
		assert_row(end, r.status == SIB_SIDR_VALID && !r.info_len);
		assert_row(end,
			   r.private_data == mad + 120 && r.private_len == 136);
		assert_row(end, sib_sidr_rep_encode(want, out, 256) == 256);
		assert_row(end, !memcmp(out, mad, 256));
		assert_row(end, sib_sidr_rep_encode(&r, out, 256) == 256);
		assert_row(end, !memcmp(out, mad, 256));
	}
}

CASE(keeps_private_data_and_information)
{
	uint8_t data[216], mad[256];
	struct sib_sidr_req req = { .private_data = data, .private_len = 216 };
	struct sib_sidr_rep rep = { .private_data = data,
				    .private_len = 136,
				    .info = data + 100,
				    .info_len = 72,
				    .status = SIB_SIDR_REDIRECT,
				    .qpn = 0xffffff };
	struct sib_sidr_req req2;
	struct sib_sidr_rep rep2;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i + 1);
	assert_int_equal(sib_sidr_req_encode(&req, mad, 256), 256);
	assert_int_equal(sib_sidr_req_decode(mad, 256, &req2), SIB_OK);
	assert_memory_equal(req2.private_data, data, 216);
	assert_int_equal(sib_sidr_rep_encode(&rep, mad, 256), 256);
	assert_int_equal(sib_sidr_rep_decode(mad, 256, &rep2), SIB_OK);
	assert_memory_equal(rep2.private_data, data, 136);
	assert_memory_equal(rep2.info, data + 100, 72);
	assert_int_equal(rep2.info_len, 72);
	assert_int_equal(rep2.status, SIB_SIDR_REDIRECT);
	assert_int_equal(rep2.qpn, 0xffffff);
}

CASE(fills_with_zeros)
{
	uint8_t data[4] = { 1, 2, 3, 4 }, mad[256], zero[212] = { 0 };
	struct sib_sidr_req req = { .private_data = data, .private_len = 4 };

	memset(mad, 0xee, sizeof(mad));
	assert_int_equal(sib_sidr_req_encode(&req, mad, 256), 256);
	assert_memory_equal(mad + 40, data, 4);
	assert_memory_equal(mad + 44, zero, 212);
}

CASE(refuses_what_does_not_fit)
{
	uint8_t mad[256] = { 0xee };
	struct sib_sidr_req req = { .private_len = 217 };
	struct sib_sidr_rep rep = { .private_len = 137 };

	assert_int_equal(sib_sidr_req_encode(&req, mad, 256), -EINVAL);
	req.private_len = 0;
	assert_int_equal(sib_sidr_req_encode(&req, mad, 255), -EMSGSIZE);
	assert_int_equal(sib_sidr_rep_encode(&rep, mad, 256), -EINVAL);
	rep.private_len = 0;
	rep.info_len = 73;
	assert_int_equal(sib_sidr_rep_encode(&rep, mad, 256), -EINVAL);
	rep.info_len = 0;
	rep.qpn = 1u << 24;
	assert_int_equal(sib_sidr_rep_encode(&rep, mad, 256), -EINVAL);
	rep.qpn = 0;
	assert_int_equal(sib_sidr_rep_encode(&rep, mad, 255), -EMSGSIZE);
	assert_int_equal(mad[0], 0xee);
}

CASE(refuses_other_messages)
{
	uint8_t mad[256];
	struct sib_sidr_req req = { 0 };
	struct sib_sidr_rep rep = { 0 };

	sib_sidr_req_encode(&req, mad, 256);
	assert_int_equal(sib_sidr_rep_decode(mad, 256, &rep),
			 SIB_F_MAD_ATTRIBUTE);
	assert_int_equal(sib_sidr_req_decode(mad, 255, &req), SIB_F_MAD_LENGTH);
	sib_sidr_rep_encode(&rep, mad, 256);
	assert_int_equal(sib_sidr_req_decode(mad, 256, &req),
			 SIB_F_MAD_ATTRIBUTE);
	mad[29] = 72;
	assert_int_equal(sib_sidr_rep_decode(mad, 256, &rep), SIB_OK);
	mad[29] = 73;
	assert_int_equal(sib_sidr_rep_decode(mad, 256, &rep), SIB_F_SIDR_INFO);
	assert_int_equal(rep.info_len, 72);
}
