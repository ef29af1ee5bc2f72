/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * One connection as packets of TCP: sequence numbers, a handshake before the
 * first packet of a file, and MPA's start frames if the capture has not seen
 * them, since Wireshark knows iWARP by them.
 *
 * Both ends may be observed.  An octet that the other end has told already is
 * not written again.
 */
#ifndef FLOW_H
#define FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "packet.h"
#include "sink.h"

/* Side 0 is the Initiator, 1 the Responder. */
struct flow_dir {
	uint32_t base; /* sequence number of octet 0 of the stream */
	uint32_t seq;  /* of what comes first, until base is known */
	bool has_base;
	bool has_start; /* the start frame is in the file */
	bool has_fin;
	uint64_t next; /* octet of the stream behind those that are written */
};

struct flow {
	struct packet_end end[2];
	struct flow_dir dir[2];
	uint32_t file;	    /* it is introduced there */
	bool has_crc;	    /* as the start frames in that file say */
	const char *reason; /* why some are made up there */
};

/* A start frame, or an FPDU. */
struct flow_unit {
	int side;    /* who sends it */
	uint64_t at; /* octets of the stream before it */
	bool is_start;
	/* How FPDUs of this connection are, for start frames that are made up:
	 * CRC, and markers in those of each side. */
	bool has_crc, has_markers[2];
	struct packet_payload payload;
};

/* @number: different for each; sequence numbers depend on it. */
void flow_init(struct flow *flow, const struct packet_end end[2],
	       uint32_t number);

/*
 * Adds a packet to the file, after what it needs.
 * Return: 1; 0: the octets are in the file already; -ENOSPC: there is no room,
 *   and nothing has changed.
 */
int flow_put(struct flow *flow, const struct flow_unit *unit,
	     struct sink *sink);

/* That side sends no more.  Return: as above. */
int flow_fin(struct flow *flow, int side, struct sink *sink);

#endif
