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
 * A14 and A17 are its annexes.
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
#define SIB_ATOMIC_LEN 8u /* octets of an atomic operation */
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
	SIB_F_ICRC,
	SIB_F_MAD_LENGTH,
	SIB_F_MAD_BASE_VERSION,
	SIB_F_MAD_CLASS,
	SIB_F_MAD_CLASS_VERSION,
	SIB_F_MAD_METHOD,
	SIB_F_MAD_ATTRIBUTE,
	SIB_F_SIDR_INFO,
	SIB_F_IP_CM_SHORT,
	SIB_F_IP_CM_VERSION,
	SIB_F_IP_CM_IPV,
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
	SIB_FLUSH = 0x1c, /* this and the next one: RC and RD (A19) */
	SIB_ATOMIC_WRITE = 0x1d,
};

#define SIB_OPCODE(service, operation) ((uint8_t)((service) << 5 | (operation)))
/* The only packet of SIB_CNP. */
#define SIB_CONGESTION 0x01

/* Extended headers, in their order on the wire (IBA 9.3; XRCETH: A14; FETH:
 * A19). */
enum sib_ext {
	SIB_RDETH = 1u << 0,	   /* 4: eecn */
	SIB_DETH = 1u << 1,	   /* 8: qkey, src_qpn */
	SIB_XRCETH = 1u << 2,	   /* 4: srqn */
	SIB_FETH = 1u << 3,	   /* 4: selectivity, placement */
	SIB_RETH = 1u << 4,	   /* 16: va, rkey, dma_len */
	SIB_ATOMIC_ETH = 1u << 5,  /* 28: va, rkey, swap_add, compare */
	SIB_AETH = 1u << 6,	   /* 4: syndrome, msn */
	SIB_ATOMIC_AETH = 1u << 7, /* 8: original */
	SIB_IMMDT = 1u << 8,	   /* 4: imm_be */
	SIB_IETH = 1u << 9,	   /* 4: inv_rkey */
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
 * Spec: IBA 9.2.1; A14; A17; A19.
 */
const struct sib_op *sib_op(uint8_t opcode);

/*
 * BTH (IBA 9.2) and extended headers (IBA 9.3).  The opcode says which of the
 * latter there are; the fields of others are zero after decoding, and ignored
 * by the encoder.
 */
struct sib_hdr {
	uint8_t opcode;
	bool is_solicited; /* SE: an event for the receiver's channel */
	bool is_migrated;  /* M */
	bool wants_ack;	   /* A; means nothing on UD and UC */
	bool is_fecn;	   /* ICRC does not cover these two */
	bool is_becn;
	uint16_t pkey;
	uint32_t dest_qpn; /* 24 bits, as the next one */
	uint32_t psn;

	uint32_t eecn; /* 24 bits: RDETH */
	uint32_t qkey;
	uint32_t src_qpn;    /* 24 bits */
	uint32_t srqn;	     /* 24 bits: XRCETH */
	uint8_t selectivity; /* 2 bits: FETH, what is flushed */
	uint8_t placement;   /* 4 bits: FETH, how far */
	uint64_t va;
	uint32_t rkey;
	uint32_t dma_len;
	uint64_t swap_add;
	uint64_t compare;
	uint8_t syndrome;
	uint32_t msn; /* 24 bits */
	uint64_t original;
	uint32_t imm_be; /* as the application gave it */
	uint32_t inv_rkey;
};

/* A packet that was received. */
struct sib_packet {
	struct sib_hdr hdr;
	uint32_t pad_len;	/* 0 to 3 */
	const uint8_t *payload; /* in the decoder's buffer, without pad */
	size_t payload_len;
};

/**
 * sib_hdr_encode - write BTH and extended headers
 * @hdr: their fields.
 * @payload_len: octets of payload that will follow; BTH says how much pad they
 *	need.
 * @out: @size octets; SIB_HDR_MAX is enough for each opcode.
 *
 * Reserved fields and the transport version are zero.
 * Return: octets written, sib_op()->hdr_size; -EINVAL: the opcode has no
 *	meaning or no payload, or a value has more bits than its field;
 *	-EMSGSIZE.
 * Spec: IBA 9.2, 9.3; A14; A17; A19.
 */
int sib_hdr_encode(const struct sib_hdr *hdr, size_t payload_len, uint8_t *out,
		   size_t size);

/**
 * sib_packet_decode - take a packet apart
 * @buf: UDP payload, @len octets, ICRC included.
 * @ret: fields, and where the payload is.
 *
 * Does not check ICRC (sib_icrc_check()), P_Key (sib_pkey_match()), or what
 * only the QP knows: its Q_Key, PSN, and path MTU (sib_payload_check()).
 * Reserved fields are ignored.
 * Return: SIB_OK; SIB_F_BTH_SHORT, SIB_F_BTH_OPCODE, SIB_F_BTH_VERSION,
 *	SIB_F_EXT_SHORT, SIB_F_BTH_PAD (payload and pad are no multiple of 4
 *	octets, or fewer than the pad), SIB_F_PAYLOAD_NONE.
 * Spec: IBA 9.2, 9.3, 9.6.1; A17.
 */
enum sib_fault sib_packet_decode(const uint8_t *buf, size_t len,
				 struct sib_packet *ret);

/**
 * sib_payload_check - is the payload as long as a packet of this opcode has it
 * @opcode: of a packet that was decoded, or is to be encoded.
 * @payload_len: octets without pad.
 * @mtu: path MTU in octets.
 *
 * First and middle packets are full, last ones have at least one octet, and
 * ATOMIC WRITE has SIB_ATOMIC_LEN.  A UD message is one packet.
 * Return: SIB_OK; SIB_F_BTH_OPCODE, SIB_F_PAYLOAD_NONE, SIB_F_PAYLOAD_MTU (not
 *	full), SIB_F_PAYLOAD_EMPTY, SIB_F_PAYLOAD_LONG.
 * Spec: IBA 9.4, 9.8.2.2 (UD); 9.7.4 (length checks).
 */
enum sib_fault sib_payload_check(uint8_t opcode, size_t payload_len,
				 uint32_t mtu);

/*
 * A GID is an IPv6 address, or an IPv4 address in the form ::ffff:a.b.c.d
 * (A17).  The latter means packets of IPv4.  Groups have the same form: a
 * MGID of RoCEv2 is the group's IP address, not what RoCE version 1 made of
 * it (ff0e::ffff:a.b.c.d).
 */
struct sib_gid {
	uint8_t raw[16]; /* network order */
};

/**
 * sib_gid_from_ip - the GID of an IP address
 * @addr: @len octets in network order; 4 or 16.
 *
 * Return: 0, or -EINVAL for another length.
 */
int sib_gid_from_ip(const uint8_t *addr, size_t len, struct sib_gid *ret);

/**
 * sib_gid_to_ip - the IP address of a GID
 * @addr: 16 octets; of those as many are written as are returned.
 *
 * Return: 4 (IPv4) or 16 (IPv6).
 */
size_t sib_gid_to_ip(const struct sib_gid *gid, uint8_t *addr);

/* Packets to and from this GID are IPv4. */
bool sib_gid_is_ipv4(const struct sib_gid *gid);

/* It is a group: ff00::/8, or of IPv4 224.0.0.0/4. */
bool sib_gid_is_multicast(const struct sib_gid *gid);

/**
 * sib_mgid_from_ip - the MGID of a multicast address
 * @addr: @len octets in network order; 4 or 16.
 *
 * Return: 0, or -EINVAL for another length or an address that is no group.
 */
int sib_mgid_from_ip(const uint8_t *addr, size_t len, struct sib_gid *ret);

/**
 * sib_mgid_to_ip - the multicast address of a MGID
 * @addr: 16 octets; of those as many are written as are returned.
 *
 * Return: 4 (IPv4) or 16 (IPv6); -EINVAL: the GID is no group.
 */
int sib_mgid_to_ip(const struct sib_gid *mgid, uint8_t *addr);

/**
 * sib_pkey_match - may a packet with P_Key @a reach a QP with P_Key @b
 *
 * Yes if both are of one partition and one of them is a full member (bit 15).
 * Partition 0 is invalid.
 * Spec: IBA 10.9.3.
 */
bool sib_pkey_match(uint16_t a, uint16_t b);

/**
 * sib_qkey_to_send - the Q_Key that a packet of UD gets
 * @wr_qkey: the work request's.
 * @qp_qkey: the sending QP's.
 *
 * Return: @qp_qkey if bit 31 of @wr_qkey is set (only a privileged user can
 *	have given it to the QP), else @wr_qkey.
 * Spec: IBA 10.2.5.
 */
uint32_t sib_qkey_to_send(uint32_t wr_qkey, uint32_t qp_qkey);

/* What an interface's MTU has beside the payload, for headers: as rxe. */
#define SIB_MTU_OVERHEAD 80u

/**
 * sib_mtu_of_link - the largest path MTU that fits an interface
 * @link_mtu: octets of IP that a frame of the interface has.
 *
 * Return: 256, 512, 1024, 2048 or 4096; 0 if not even 256 fits.
 */
uint32_t sib_mtu_of_link(uint32_t link_mtu);

/**
 * sib_mtu_code - the code of a path MTU, as in MADs and enum ibv_mtu
 *
 * Return: 1 to 5 for 256 to 4096, or 0 for another number.
 */
uint8_t sib_mtu_code(uint32_t mtu);

/* The path MTU of a code, or 0. */
uint32_t sib_mtu_of_code(uint8_t code);

/*
 * The IP and UDP headers of a packet.  They are IPv4 if @dst is
 * (sib_gid_is_ipv4()); then @src is, too, and there are no options and the
 * flags are DF (A17).
 */
struct sib_path {
	struct sib_gid src, dst;
	uint16_t src_port, dst_port;
	uint16_t ip_id; /* IPv4: Identification */
	/* ICRC does not cover these. */
	uint8_t tclass; /* or TOS */
	uint8_t hop_limit;
	uint32_t flow_label; /* IPv6 */
};

/**
 * sib_tail_encode - write what follows the payload: pad and ICRC
 * @path: where the packet goes.  A UDP socket that is not connected and has
 *	IP_PMTUDISC_DO sends ip_id 0; the segments of UDP_SEGMENT have 0, 1, 2
 *...
 * @iov: @cnt pieces.  The first is what sib_hdr_encode() wrote and nothing
 *	else, the others are the payload.  May be empty but for the first.
 * @out: @size octets; SIB_TAIL_MAX is always enough.
 *
 * Return: octets written, 4 to 7; -EINVAL: the first piece is no header of its
 *	opcode, the payload needs other pad than BTH says, or the datagram is
 *	longer than IP allows; -EMSGSIZE.
 * Spec: IBA 7.8.1, 9.2.4; A17.
 */
int sib_tail_encode(const struct sib_path *path, const struct iovec *iov,
		    size_t cnt, uint8_t *out, size_t size);

/**
 * sib_icrc_check - check the ICRC of a packet that was received
 * @path: where it came from; ip_id is ignored.
 * @buf: UDP payload, @len octets.
 * @ret_ip_id: IPv4: the Identification that the packet had; else 0.
 *
 * ICRC covers IPv4's Identification, which no socket tells.  CRC is linear: the
 * difference to the ICRC with Identification 0 gives its 16 bits, and 16 bits
 * that are zero if the packet is right.  The check is as strong as a CRC of 16
 * bits then, and as one of 32 bits for IPv6 and for Identification 0.
 * Return: SIB_OK; SIB_F_BTH_SHORT; SIB_F_ICRC (longer than a datagram, too).
 * Spec: IBA 7.8.1; A17.
 */
enum sib_fault sib_icrc_check(const struct sib_path *path, const uint8_t *buf,
			      size_t len, uint16_t *ret_ip_id);

/* What a receive of UD has before the payload. */
#define SIB_GRH_SIZE 40u

/**
 * sib_grh_encode - the octets before the payload of a received UD message
 * @path: headers that the packet had; ip_id from sib_icrc_check().
 * @len: octets of the UDP payload, with ICRC; at most 65507.
 * @out: @size octets.
 *
 * IPv6: the header as it came.  IPv4: 20 octets of zero, then the header as it
 * came, with its checksum.  Zero, because ibv_init_ah_from_wc() reads a flow
 * label and a hop limit there.
 * Return: SIB_GRH_SIZE; -EINVAL: @len is too long, or flow_label has more than
 *	20 bits; -EMSGSIZE.
 * Spec: IBA 8.3, 11.4.1.2; A17.
 */
int sib_grh_encode(const struct sib_path *path, size_t len, uint8_t *out,
		   size_t size);

/**
 * sib_grh_gids - who sent a received UD message, and to whom
 * @grh: as sib_grh_encode() writes it.
 *
 * Return: false: it is neither; nothing is set then.
 */
bool sib_grh_gids(const uint8_t grh[SIB_GRH_SIZE], struct sib_gid *ret_src,
		  struct sib_gid *ret_dst);

/**
 * sib_grh_decode - the headers that a received UD message had
 * @grh: as sib_grh_encode() writes it.
 *
 * The ports of @ret are 0: they are no part of @grh.
 * Return: false: it is no GRH; nothing is set then.
 */
bool sib_grh_decode(const uint8_t grh[SIB_GRH_SIZE], struct sib_path *ret);

/*
 * Management datagrams of connection management: the payload of a UD SEND from
 * QP 1 to QP 1 with SIB_QKEY_GSI.
 */
#define SIB_MAD_SIZE 256u

/* Attributes of class ComMgt (IBA 12.6, 12.8, 12.11). */
enum sib_cm_attr {
	SIB_CM_CLASS_PORT_INFO = 0x01,
	SIB_CM_REQ = 0x10,
	SIB_CM_MRA = 0x11,
	SIB_CM_REJ = 0x12,
	SIB_CM_REP = 0x13,
	SIB_CM_RTU = 0x14,
	SIB_CM_DREQ = 0x15,
	SIB_CM_DREP = 0x16,
	SIB_CM_SIDR_REQ = 0x17,
	SIB_CM_SIDR_REP = 0x18,
	SIB_CM_LAP = 0x19,
	SIB_CM_APR = 0x1a,
};

/* What all of them have. */
struct sib_cm {
	uint16_t attr; /* enum sib_cm_attr; may be another number */
	uint64_t tid;  /* the same in all attempts, and in the answer */
};

/**
 * sib_cm_decode - which message of connection management it is
 * @buf: payload of the packet, @len octets.
 *
 * Return: SIB_OK; SIB_F_MAD_LENGTH (not SIB_MAD_SIZE), SIB_F_MAD_BASE_VERSION
 *	(not 1), SIB_F_MAD_CLASS (not ComMgt), SIB_F_MAD_CLASS_VERSION (not 2),
 *	SIB_F_MAD_METHOD (not Send, which answers are, too).
 * Spec: IBA 13.4.2, 16.7.1.
 */
enum sib_fault sib_cm_decode(const uint8_t *buf, size_t len,
			     struct sib_cm *ret);

#define SIB_SIDR_REQ_PRIVATE 216u
#define SIB_SIDR_REP_PRIVATE 136u
#define SIB_SIDR_INFO 72u

/* Which QP has this service?  (IBA 12.11.1) */
struct sib_sidr_req {
	uint64_t tid;
	uint32_t request_id;
	uint16_t pkey;
	uint64_t service_id;
	const uint8_t *private_data; /* rdma_cm: begins with sib_ip_cm */
	size_t private_len;
};

/* Status of an answer (IBA 12.11.2). */
enum sib_sidr_status {
	SIB_SIDR_VALID = 0,
	SIB_SIDR_NO_SERVICE = 1,
	SIB_SIDR_REJECTED = 2,
	SIB_SIDR_NO_QP = 3,
	SIB_SIDR_REDIRECT = 4,
	SIB_SIDR_NO_VERSION = 5,
};

/* The answer; tid, request_id and service_id are those of the request. */
struct sib_sidr_rep {
	uint64_t tid;
	uint32_t request_id;
	uint8_t status; /* enum sib_sidr_status; may be another number */
	uint32_t qpn;	/* 24 bits */
	uint64_t service_id;
	uint32_t qkey;
	const uint8_t *info; /* additional information */
	size_t info_len;
	const uint8_t *private_data;
	size_t private_len;
};

/**
 * sib_sidr_req_encode, sib_sidr_rep_encode - write a MAD
 * @out: @size octets.
 *
 * What private data and additional information leave of their fields is zero.
 * Return: SIB_MAD_SIZE; -EINVAL: qpn has more than 24 bits, or there is more
 *	private data (SIB_SIDR_REQ_PRIVATE, SIB_SIDR_REP_PRIVATE) or additional
 *	information (SIB_SIDR_INFO) than the MAD has room for; -EMSGSIZE.
 * Spec: IBA 12.11, 13.4.2.
 */
int sib_sidr_req_encode(const struct sib_sidr_req *req, uint8_t *out,
			size_t size);
int sib_sidr_rep_encode(const struct sib_sidr_rep *rep, uint8_t *out,
			size_t size);

/**
 * sib_sidr_req_decode, sib_sidr_rep_decode - take a MAD apart
 * @buf: payload of the packet, @len octets.  Private data and additional
 *	information of @ret lie in it; private data has its full length.
 *
 * Return: as sib_cm_decode(); SIB_F_MAD_ATTRIBUTE: another message;
 *	SIB_F_SIDR_INFO: more additional information than there is room for.
 * Spec: IBA 12.11, 13.4.2.
 */
enum sib_fault sib_sidr_req_decode(const uint8_t *buf, size_t len,
				   struct sib_sidr_req *ret);
enum sib_fault sib_sidr_rep_decode(const uint8_t *buf, size_t len,
				   struct sib_sidr_rep *ret);

/* Octets that rdma_cm has before the user's private data in REQ and SIDR_REQ:
 * whose addresses are to be connected (A11). */
#define SIB_IP_CM_SIZE 36u

struct sib_ip_cm {
	struct sib_gid src, dst; /* IPv4 as GIDs have it */
	uint16_t src_port;	 /* dst_port is in the service ID */
};

/**
 * sib_ip_cm_encode - write rdma_cm's header of private data
 * @out: @size octets.
 *
 * Return: SIB_IP_CM_SIZE; -EINVAL: one address is IPv4, the other is not;
 *	-EMSGSIZE.
 * Spec: A11.
 */
int sib_ip_cm_encode(const struct sib_ip_cm *ip, uint8_t *out, size_t size);

/**
 * sib_ip_cm_decode - read rdma_cm's header of private data
 * @buf: private data, @len octets.
 *
 * Return: SIB_OK; SIB_F_IP_CM_SHORT; SIB_F_IP_CM_VERSION (not 0);
 *	SIB_F_IP_CM_IPV (neither 4 nor 6).
 * Spec: A11.
 */
enum sib_fault sib_ip_cm_decode(const uint8_t *buf, size_t len,
				struct sib_ip_cm *ret);

/* Port spaces of rdma_cm (enum rdma_port_space): 01 and the IP protocol. */
#define SIB_PS_TCP 0x0106u
#define SIB_PS_UDP 0x0111u

/* The service ID of rdma_cm's port @port of port space @ps (A11). */
uint64_t sib_service_id(uint16_t ps, uint16_t port);

/* Sets port space and port, and returns true, if it is an ID of that form. */
bool sib_service_id_decode(uint64_t service_id, uint16_t *ret_ps,
			   uint16_t *ret_port);

#ifdef __cplusplus
}
#endif

#endif
