/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Records of USIW_OBSERVE_PACKETS: what a process sends and receives.
 *
 * A stream is told in units: a start frame or an FPDU, with its markers, pad
 * and CRC.  A record has a whole unit or a piece of it.  The pieces of a unit
 * come in their order, and begin with its first octet; if a record was lost,
 * the next ones of that direction begin with another unit.  No more than
 * snap_len octets of a unit are told.  A datagram is one record.
 */
#ifndef USIW_PACKET_H
#define USIW_PACKET_H

#include <stddef.h>
#include <stdint.h>

/* struct usiw_record, `kind`. */
enum usiw_packet_kind {
	USIW_PACKET_UNIT,
	USIW_PACKET_FIN, /* this direction of the stream has ended */
	USIW_PACKET_END, /* the stream has, in this process: nothing follows */
	USIW_PACKET_DATAGRAM, /* RoCEv2: the payload of UDP */
};

/* struct usiw_record, `flags`. */
enum usiw_packet_flags {
	USIW_PACKET_SENT = 1u << 0, /* by the process; else it has come */
	USIW_PACKET_CA = 1u << 1,   /* the device has persona ca */
	/* Its memory could not be read any more; the octets are 0. */
	USIW_PACKET_UNREADABLE = 1u << 2,
	/* Of streams: */
	USIW_PACKET_INITIATOR = 1u << 3, /* the process is */
	USIW_PACKET_START = 1u << 4,	 /* the unit is a start frame */
	USIW_PACKET_CRC = 1u << 5,	 /* FPDUs have CRCs now */
	USIW_PACKET_TX_MARKERS = 1u << 6,
	USIW_PACKET_RX_MARKERS = 1u << 7,
};

/* What carries the octets. */
enum usiw_carrier {
	USIW_CARRIER_TCP,
	USIW_CARRIER_RING, /* memory that both ends share */
	USIW_CARRIER_UDP,
	USIW_CARRIER_UNIX,  /* datagrams on this host: AF_UNIX */
	USIW_CARRIER_INBOX, /* and memory of the receiver */
};

/* After struct usiw_record; the octets follow. */
struct usiw_packet {
	/* A number that no other stream of the process has had; of datagrams:
	 * the queue pair's. */
	uint64_t stream;
	uint64_t at;	 /* octets of the stream before the unit; FIN: in all */
	uint32_t len;	 /* of the unit, or the datagram */
	uint32_t off;	 /* of the octets, in it */
	uint32_t qp_num; /* 0: the stream has none yet */
	uint16_t own_port, peer_port; /* of TCP, or UDP */
	uint8_t own[16], peer[16];    /* ::ffff:a.b.c.d is IPv4 */
	uint8_t carrier;	      /* enum usiw_carrier */
	/* Of datagrams: */
	uint8_t tclass, hop_limit;
	uint8_t reserved;
	uint16_t ip_id;
	uint16_t reserved2;
	uint32_t flow_label;
	uint32_t reserved3;
};

_Static_assert(sizeof(struct usiw_packet) == 80, "packet layout");
_Static_assert(offsetof(struct usiw_packet, own) == 32, "packet layout");

#endif
