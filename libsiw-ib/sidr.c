/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Service ID resolution: how the QP and Q_Key of a datagram service are found
 * (IBA 12.11).
 */
#include <errno.h>
#include <string.h>

#include "include/siw-ib.h"
#include "libsiw-mpa/wire.h"
#include "mad.h"

/* Offsets in the MAD. */
#define AT_REQUEST_ID 24u

#define REQ_AT_PKEY 28u
#define REQ_AT_SERVICE_ID 32u
#define REQ_AT_PRIVATE 40u

#define REP_AT_STATUS 28u
#define REP_AT_INFO_LEN 29u
#define REP_AT_QPN 32u /* 24 bits, and a reserved octet */
#define REP_AT_SERVICE_ID 36u
#define REP_AT_QKEY 44u
#define REP_AT_INFO 48u
#define REP_AT_PRIVATE 120u

_Static_assert(AT_REQUEST_ID == SIB_MAD_HDR_SIZE, "first field");
_Static_assert(REQ_AT_PRIVATE + SIB_SIDR_REQ_PRIVATE == SIB_MAD_SIZE, "end");
_Static_assert(REP_AT_INFO + SIB_SIDR_INFO == REP_AT_PRIVATE, "info");
_Static_assert(REP_AT_PRIVATE + SIB_SIDR_REP_PRIVATE == SIB_MAD_SIZE, "end");

static void copy(uint8_t *out, const uint8_t *in, size_t len)
{
	if (len)
		memcpy(out, in, len);
}

int sib_sidr_req_encode(const struct sib_sidr_req *req, uint8_t *out,
			size_t size)
{
	if (req->private_len > SIB_SIDR_REQ_PRIVATE)
		return -EINVAL;
	if (size < SIB_MAD_SIZE)
		return -EMSGSIZE;
	sib_mad_begin(out, SIB_CM_SIDR_REQ, req->tid);
	wire_put32(out + AT_REQUEST_ID, req->request_id);
	wire_put16(out + REQ_AT_PKEY, req->pkey);
	wire_put64(out + REQ_AT_SERVICE_ID, req->service_id);
	copy(out + REQ_AT_PRIVATE, req->private_data, req->private_len);
	return (int)SIB_MAD_SIZE;
}

int sib_sidr_rep_encode(const struct sib_sidr_rep *rep, uint8_t *out,
			size_t size)
{
	if (rep->qpn > 0xffffff || rep->info_len > SIB_SIDR_INFO ||
	    rep->private_len > SIB_SIDR_REP_PRIVATE)
		return -EINVAL;
	if (size < SIB_MAD_SIZE)
		return -EMSGSIZE;
	sib_mad_begin(out, SIB_CM_SIDR_REP, rep->tid);
	wire_put32(out + AT_REQUEST_ID, rep->request_id);
	out[REP_AT_STATUS] = rep->status;
	out[REP_AT_INFO_LEN] = (uint8_t)rep->info_len;
	wire_put32(out + REP_AT_QPN, rep->qpn << 8);
	wire_put64(out + REP_AT_SERVICE_ID, rep->service_id);
	wire_put32(out + REP_AT_QKEY, rep->qkey);
	copy(out + REP_AT_INFO, rep->info, rep->info_len);
	copy(out + REP_AT_PRIVATE, rep->private_data, rep->private_len);
	return (int)SIB_MAD_SIZE;
}

static enum sib_fault check(const uint8_t *buf, size_t len, uint16_t attr,
			    uint64_t *ret_tid)
{
	struct sib_cm cm;
	enum sib_fault fault = sib_cm_decode(buf, len, &cm);

	if (fault)
		return fault;
	if (cm.attr != attr)
		return SIB_F_MAD_ATTRIBUTE;
	*ret_tid = cm.tid;
	return SIB_OK;
}

enum sib_fault sib_sidr_req_decode(const uint8_t *buf, size_t len,
				   struct sib_sidr_req *ret)
{
	uint64_t tid;
	enum sib_fault fault = check(buf, len, SIB_CM_SIDR_REQ, &tid);

	if (fault)
		return fault;
	*ret = (struct sib_sidr_req){
		.tid = tid,
		.request_id = wire_get32(buf + AT_REQUEST_ID),
		.pkey = wire_get16(buf + REQ_AT_PKEY),
		.service_id = wire_get64(buf + REQ_AT_SERVICE_ID),
		.private_data = buf + REQ_AT_PRIVATE,
		.private_len = SIB_SIDR_REQ_PRIVATE,
	};
	return SIB_OK;
}

enum sib_fault sib_sidr_rep_decode(const uint8_t *buf, size_t len,
				   struct sib_sidr_rep *ret)
{
	uint64_t tid;
	enum sib_fault fault = check(buf, len, SIB_CM_SIDR_REP, &tid);

	if (fault)
		return fault;
	if (buf[REP_AT_INFO_LEN] > SIB_SIDR_INFO)
		return SIB_F_SIDR_INFO;
	*ret = (struct sib_sidr_rep){
		.tid = tid,
		.request_id = wire_get32(buf + AT_REQUEST_ID),
		.status = buf[REP_AT_STATUS],
		.qpn = wire_get32(buf + REP_AT_QPN) >> 8,
		.service_id = wire_get64(buf + REP_AT_SERVICE_ID),
		.qkey = wire_get32(buf + REP_AT_QKEY),
		.info = buf + REP_AT_INFO,
		.info_len = buf[REP_AT_INFO_LEN],
		.private_data = buf + REP_AT_PRIVATE,
		.private_len = SIB_SIDR_REP_PRIVATE,
	};
	return SIB_OK;
}
