/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The probes of the RNIC for tracers (util/probe.h).  A caller asks
 * UTIL_PROBE_IS_ON(NAME) first.  usiw-probes(7) has names, arguments and
 * numbers: a change here is one there.
 */
#ifndef RNIC_PROBE_H
#define RNIC_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/usiw-abi.h"
#include "util/probe.h"

/* What carries octets. */
enum rnic_probe_carrier {
	RNIC_PROBE_TCP,
	RNIC_PROBE_MEMORY, /* shared by both ends */
	RNIC_PROBE_DATAGRAM,
};

UTIL_PROBE_DECLARE(complete);
UTIL_PROBE_DECLARE(qp_state);
UTIL_PROBE_DECLARE(octets_out);
UTIL_PROBE_DECLARE(octets_in);
UTIL_PROBE_DECLARE(message_out);
UTIL_PROBE_DECLARE(segment_in);
UTIL_PROBE_DECLARE(cm_state);

/* These run under the lead of the QP's engine. */

void rnic_probe_complete(uint32_t qp_num, const struct usiw_cqe *cqe,
			 bool is_signaled);
/* enum rnic_qp_state */
void rnic_probe_qp_state(uint32_t qp_num, uint32_t from, uint32_t to);
/* Octets of a stream with its headers, or of a datagram without.  @qp_num: 0:
 * the stream has no QP, or none any more. */
void rnic_probe_octets_out(uint32_t qp_num, enum rnic_probe_carrier carrier,
			   uint64_t len);
void rnic_probe_octets_in(uint32_t qp_num, enum rnic_probe_carrier carrier,
			  uint64_t len);
/* A message is given to the protocol engine.  @opcode: enum smpa_opcode; @len:
 * octets of payload. */
void rnic_probe_message_out(uint32_t qp_num, uint32_t opcode, uint32_t len);
/* The header of a segment has come. */
void rnic_probe_segment_in(uint32_t qp_num, uint32_t opcode, uint32_t len);

/* Under the loop's lock.  RNIC_CM_S_*; @qp_num: 0: none yet. */
void rnic_probe_cm_state(uint32_t id_num, uint32_t from, uint32_t to,
			 uint32_t qp_num);

#endif
