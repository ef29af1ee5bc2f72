/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The probes of the RNIC. */
#include "probe.h"

UTIL_PROBE_DEFINE(complete);
UTIL_PROBE_DEFINE(qp_state);
UTIL_PROBE_DEFINE(octets_out);
UTIL_PROBE_DEFINE(octets_in);
UTIL_PROBE_DEFINE(message_out);
UTIL_PROBE_DEFINE(segment_in);
UTIL_PROBE_DEFINE(cm_state);

void rnic_probe_complete(uint32_t qp_num, const struct usiw_cqe *cqe,
			 bool is_signaled)
{
	UTIL_PROBE(complete, qp_num, cqe->status, cqe->opcode, cqe->byte_len,
		   cqe->wr_id, is_signaled);
}

void rnic_probe_qp_state(uint32_t qp_num, uint32_t from, uint32_t to)
{
	UTIL_PROBE(qp_state, qp_num, from, to);
}

void rnic_probe_octets_out(uint32_t qp_num, enum rnic_probe_carrier carrier,
			   uint64_t len)
{
	UTIL_PROBE(octets_out, qp_num, carrier, len);
}

void rnic_probe_octets_in(uint32_t qp_num, enum rnic_probe_carrier carrier,
			  uint64_t len)
{
	UTIL_PROBE(octets_in, qp_num, carrier, len);
}

void rnic_probe_message_out(uint32_t qp_num, uint32_t opcode, uint32_t len)
{
	UTIL_PROBE(message_out, qp_num, opcode, len);
}

void rnic_probe_segment_in(uint32_t qp_num, uint32_t opcode, uint32_t len)
{
	UTIL_PROBE(segment_in, qp_num, opcode, len);
}

void rnic_probe_cm_state(uint32_t id_num, uint32_t from, uint32_t to,
			 uint32_t qp_num)
{
	UTIL_PROBE(cm_state, id_num, from, to, qp_num);
}
