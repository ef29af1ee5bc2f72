/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * siw-ib.h - InfiniBand transport packets in UDP (RoCEv2) without I/O.
 *
 * A packet is the payload of a UDP datagram to port 4791: BTH, the extended
 * headers that its opcode has, payload, 0 to 3 octets of pad, ICRC.  To send
 * one:
 *
 *	n = sib_hdr_encode(&hdr, len, head, sizeof(head));
 *	iov[0] = head, n octets; iov[1], ... = the payload, len octets
 *	m = sib_tail_encode(&path, iov, cnt, tail, sizeof(tail));
 *	iov[cnt] = tail, m octets
 *	... sendmsg() ...
 *
 * To receive one: sib_packet_decode(), sib_icrc_check(), and for UD
 * sib_grh_encode() makes the 40 octets before the payload.
 *
 * All functions are pure: they use the caller's memory only, allocate nothing,
 * keep nothing, and read no clock.  Any thread may call any of them at any
 * time, in a signal handler, too.
 *
 * Return values: encoders return the number of octets written, or -EINVAL (a
 * value does not fit its field) or -EMSGSIZE (@size is too small); then they
 * have written nothing.  Decoders return SIB_OK or the fault that they found
 * first, and set their outputs on SIB_OK only.
 * Integers have the byte order of the machine, but for names that end in _be.
 * Sizes are octets.
 *
 * Clauses: "IBA" is the InfiniBand Architecture Specification, Volume 1; A11,
 * A14 and A17 are its annexes.  doc/roce-map.md has a table.
 */
#ifndef SIW_IB_H
#define SIW_IB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h> /* struct iovec only */

#ifdef __cplusplus
extern "C" {
#endif

/* Destination of all packets; a sender's own port is free (A17). */
#define SIB_UDP_PORT 4791

#define SIB_BTH_SIZE 12u
/* Longest BTH and extended headers: an atomic request of RD. */
#define SIB_HDR_MAX 52u
#define SIB_ICRC_SIZE 4u
/* Pad and ICRC. */
#define SIB_TAIL_MAX 7u
/* The largest path MTU. */
#define SIB_PAYLOAD_MAX 4096u

/* QP of connection management, and destination of multicast packets. */
#define SIB_QPN_GSI 1u
#define SIB_QPN_MULTICAST 0xffffffu
/* P_Key of the default partition, full member (IBA 10.9.1). */
#define SIB_PKEY_DEFAULT 0xffffu
/* Q_Key of QP 1 (IBA 10.2.5), and of QPs of rdma_cm's RDMA_PS_UDP. */
#define SIB_QKEY_GSI 0x80010000u
#define SIB_QKEY_RDMA_CM 0x01234567u

/* What is wrong with what was decoded; sib_fault_str() has field and reason. */
enum sib_fault {
	SIB_OK = 0,
	SIB_F_BTH_SHORT,
	SIB_F_BTH_OPCODE,
	SIB_F_BTH_VERSION,
	SIB_F_BTH_PAD,
	SIB_F_EXT_SHORT,
	SIB_F_PAYLOAD_NONE,
	SIB_F_PAYLOAD_EMPTY,
	SIB_F_PAYLOAD_LONG,
	SIB_F_PAYLOAD_MTU,
};

/**
 * sib_fault_str - the field that is wrong, and why
 * @fault: what a decoder returned.
 *
 * Return: a constant text in the form "field: reason"; never NULL.
 */
const char *sib_fault_str(enum sib_fault fault);

/* Transport services: bits 7 to 5 of the opcode (IBA 9.2.1; XRC: A14). */
enum sib_service {
	SIB_RC = 0,
	SIB_UC = 1,
	SIB_RD = 2,
	SIB_UD = 3,
	SIB_CNP = 4, /* congestion notification (A17) */
	SIB_XRC = 5,
};

/* Operations: bits 4 to 0 of the opcode, the same in each service. */
enum sib_operation {
	SIB_SEND_FIRST = 0x00,
	SIB_SEND_MIDDLE = 0x01,
	SIB_SEND_LAST = 0x02,
	SIB_SEND_LAST_IMM = 0x03,
	SIB_SEND_ONLY = 0x04,
	SIB_SEND_ONLY_IMM = 0x05,
	SIB_WRITE_FIRST = 0x06,
	SIB_WRITE_MIDDLE = 0x07,
	SIB_WRITE_LAST = 0x08,
	SIB_WRITE_LAST_IMM = 0x09,
	SIB_WRITE_ONLY = 0x0a,
	SIB_WRITE_ONLY_IMM = 0x0b,
	SIB_READ_REQUEST = 0x0c,
	SIB_READ_RESPONSE_FIRST = 0x0d,
	SIB_READ_RESPONSE_MIDDLE = 0x0e,
	SIB_READ_RESPONSE_LAST = 0x0f,
	SIB_READ_RESPONSE_ONLY = 0x10,
	SIB_ACK = 0x11,
	SIB_ATOMIC_ACK = 0x12,
	SIB_CMP_SWAP = 0x13,
	SIB_FETCH_ADD = 0x14,
	SIB_RESYNC = 0x15, /* RD only */
	SIB_SEND_LAST_INV = 0x16,
	SIB_SEND_ONLY_INV = 0x17,
};

#define SIB_OPCODE(service, operation) ((uint8_t)((service) << 5 | (operation)))
/* The only packet of SIB_CNP. */
#define SIB_CONGESTION 0x01

/* Extended headers, in their order on the wire (IBA 9.3; XRCETH: A14). */
enum sib_ext {
	SIB_RDETH = 1u << 0,	   /* 4: eecn */
	SIB_DETH = 1u << 1,	   /* 8: qkey, src_qpn */
	SIB_XRCETH = 1u << 2,	   /* 4: srqn */
	SIB_RETH = 1u << 3,	   /* 16: va, rkey, dma_len */
	SIB_ATOMIC_ETH = 1u << 4,  /* 28: va, rkey, swap_add, compare */
	SIB_AETH = 1u << 5,	   /* 4: syndrome, msn */
	SIB_ATOMIC_AETH = 1u << 6, /* 8: original */
	SIB_IMMDT = 1u << 7,	   /* 4: imm_be */
	SIB_IETH = 1u << 8,	   /* 4: inv_rkey */
};

/* Place of a packet in its message. */
enum sib_part {
	SIB_PART_ONLY,
	SIB_PART_FIRST,
	SIB_PART_MIDDLE,
	SIB_PART_LAST,
};

/* What packets of an opcode look like. */
struct sib_op {
	const char *name; /* "UD SEND only" */
	uint16_t ext;	  /* mask of enum sib_ext */
	uint8_t hdr_size; /* BTH and extended headers */
	uint8_t service;  /* enum sib_service */
	uint8_t part;	  /* enum sib_part */
	bool has_payload; /* else there are none, and no pad */
};

/**
 * sib_op - the table of opcodes
 * @opcode: octet 0 of BTH; SIB_OPCODE() makes it.
 *
 * Return: a constant row, or NULL for an opcode without meaning.
 * Spec: IBA 9.2.1; A14; A17.
 */
const struct sib_op *sib_op(uint8_t opcode);

#ifdef __cplusplus
}
#endif

#endif
