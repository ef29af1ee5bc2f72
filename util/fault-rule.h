/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* A rule of USIW_FAULT: a fault, where it may happen and when. */
#ifndef UTIL_FAULT_RULE_H
#define UTIL_FAULT_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What happens.  The comment has what the rule counts. */
enum util_fault {
	UTIL_FAULT_CALL, /* calls of that name, of the QP if one is named */

	/* Work requests that complete in success. */
	UTIL_FAULT_COMPLETION,
	UTIL_FAULT_CQ_OVERRUN,
	UTIL_FAULT_SIGNAL, /* with at=: a time */

	/* Messages that a QP sends; with dir=in: that arrive for it. */
	UTIL_FAULT_STATE_ERROR,
	UTIL_FAULT_STREAM_STALL,
	UTIL_FAULT_STREAM_SILENT,
	UTIL_FAULT_STREAM_RESET,
	UTIL_FAULT_STREAM_HALF_CLOSE,
	/* Messages that a QP sends. */
	UTIL_FAULT_STREAM_DELAY,
	UTIL_FAULT_MESSAGE_BAD_CRC,
	UTIL_FAULT_MESSAGE_CHANGED, /* with a payload */
	/* Messages that arrive for a QP. */
	UTIL_FAULT_TERMINATE_FORGED,
	UTIL_FAULT_RECEIVE_RNR,	   /* that take a receive */
	UTIL_FAULT_TERMINATE_LOST, /* TERMINATEs only */

	UTIL_FAULT_DATAGRAM_LOST, /* datagrams that a UD QP sends */

	/* A time. */
	UTIL_FAULT_PORT_DOWN,
	UTIL_FAULT_DEVICE_FATAL,
	UTIL_FAULT_CM_ADDR_CHANGE,

	/* Calls of rdma_cm that begin something. */
	UTIL_FAULT_CM_ADDR_ERROR,
	UTIL_FAULT_CM_ROUTE_ERROR,
	UTIL_FAULT_CM_UNREACHABLE,
	UTIL_FAULT_CM_REJECT,
	UTIL_FAULT_CM_TIMEOUT,

	UTIL_FAULT_CNT
};

/* The keys of a rule beside its fault, a bit for each. */
enum util_fault_key {
	UTIL_FAULT_ERRNO = 1u << 0,
	UTIL_FAULT_VENDOR_ERR = 1u << 1,
	UTIL_FAULT_CODE = 1u << 2,
	UTIL_FAULT_FOR = 1u << 3,
	UTIL_FAULT_AT = 1u << 4,
	UTIL_FAULT_QP = 1u << 5,
	UTIL_FAULT_PEER = 1u << 6,
	UTIL_FAULT_OPCODE = 1u << 7,
	UTIL_FAULT_DIR = 1u << 8,
	UTIL_FAULT_AFTER = 1u << 9,
	UTIL_FAULT_NTH = 1u << 10,
	UTIL_FAULT_EVERY = 1u << 11,
	UTIL_FAULT_P = 1u << 12,
	UTIL_FAULT_TIMES = 1u << 13,
	UTIL_FAULT_PROCESS = 1u << 14,
	UTIL_FAULT_RANK = 1u << 15,
	UTIL_FAULT_SEED = 1u << 16,
};

enum util_fault_opcode {
	UTIL_FAULT_OP_SEND = 1u << 0,
	UTIL_FAULT_OP_WRITE = 1u << 1,
	UTIL_FAULT_OP_READ = 1u << 2,
	UTIL_FAULT_OP_ATOMIC = 1u << 3,
	UTIL_FAULT_OP_RESPONSE = 1u << 4, /* messages: to a READ or atomic */
	UTIL_FAULT_OP_LOCAL = 1u << 5, /* completions: of windows and STags */
	UTIL_FAULT_OP_RECV = 1u << 6,  /* completions: of receives */
	UTIL_FAULT_OP_ANY = 0x7f,
};

#define UTIL_FAULT_PROCESS_MAX 63

/* A rule.  What no key has set is 0, unless the comment says otherwise. */
struct util_fault_rule {
	enum util_fault fault;
	uint32_t keys;	  /* that it has */
	size_t text, len; /* the rule in the specification */
	uint32_t call;	  /* UTIL_FAULT_CALL: its number */
	uint32_t status;  /* UTIL_FAULT_COMPLETION */
	uint32_t signal;  /* UTIL_FAULT_SIGNAL */
	uint32_t err;	  /* errno, positive */
	uint32_t vendor_err;
	uint32_t code; /* UTIL_FAULT_TERMINATE_FORGED; default 0x0207 */
	uint64_t for_ns, at_ns;
	uint32_t qp;	  /* the QP's position in the process, from 1 on */
	uint8_t peer[16]; /* an IPv4 address is mapped */
	uint32_t opcodes; /* enum util_fault_opcode; default: all */
	bool is_in;	  /* dir=in */
	uint64_t after;	  /* octets */
	uint64_t nth, every, times;
	uint64_t p; /* of 2^32 */
	char process[UTIL_FAULT_PROCESS_MAX + 1];
	uint32_t rank;
	uint64_t seed; /* the same in all rules; default 1 */
};

#endif
