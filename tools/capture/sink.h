/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Where packets go, and what is to be said of them. */
#ifndef SINK_H
#define SINK_H

#include <stddef.h>
#include <stdint.h>

#include "packet.h"
#include "pcapng.h"

struct sink {
	struct pcapng *to;
	uint32_t file; /* another number for each file, from 1 */
	uint32_t interface;
	uint32_t snap_len; /* most octets of a packet */
	uint64_t ns;
	enum pcapng_direction direction;
	uint64_t drop_cnt;    /* packets lost before; said once */
	const char *comment;  /* of the packet that is asked for */
	uint32_t written_cnt; /* grows with each packet */
};

/* Adds a packet.  Return: 0; -ENOSPC: there is no room, and nothing has
 * changed. */
int sink_put(struct sink *sink, const uint8_t *head, size_t head_len,
	     const struct packet_payload *payload, const char *comment);

#endif
