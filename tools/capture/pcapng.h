/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Blocks of a pcapng file (draft-ietf-opsawg-pcapng), in the byte order of the
 * machine.  Times are nanoseconds since 1970; packets begin with their IP
 * header (LINKTYPE_RAW).
 *
 * A call adds one block to the caller's memory.  All are pure.
 */
#ifndef PCAPNG_H
#define PCAPNG_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* Blocks in memory: @len of @size octets are used. */
struct pcapng {
	uint8_t *octets;
	size_t size, len;
};

/*
 * Each of the following adds a block.  Texts are UTF-8; NULL or "": none.
 * Return: 0; -ENOSPC: there is no room, and nothing has changed; -EMSGSIZE: a
 *   text has more than 65535 octets, or a packet more than 2^31.
 */

/* The begin of a file, or of what follows another program's file. */
int pcapng_put_section(struct pcapng *to, const char *os,
		       const char *application);

/* Interfaces are numbered from 0 in their order, anew in each section. */
struct pcapng_interface {
	const char *name;
	const char *description;
	const char *filter; /* what was not written */
	uint32_t snap_len;  /* most octets of a packet; 0: all */
};

int pcapng_put_interface(struct pcapng *to,
			 const struct pcapng_interface *interface);

enum pcapng_direction {
	PCAPNG_UNKNOWN,
	PCAPNG_IN,
	PCAPNG_OUT,
};

struct pcapng_packet {
	uint32_t interface;
	uint64_t ns;
	enum pcapng_direction direction;
	uint64_t drop_cnt;   /* packets lost just before, as far as known */
	const char *comment; /* several lines are allowed */
	uint32_t len;	     /* of the packet; may be more than the octets */
};

/* @iov: the octets that were kept, at most @packet->len. */
int pcapng_put_packet(struct pcapng *to, const struct pcapng_packet *packet,
		      const struct iovec *iov, int cnt);

/* What has become of an interface's packets. */
struct pcapng_statistics {
	uint32_t interface;
	uint64_t begin_ns, end_ns;
	uint64_t received_cnt; /* by the interface */
	uint64_t lost_cnt;     /* of these, because the ring was full */
	uint64_t dropped_cnt;  /* because the output did not take them */
	uint64_t written_cnt;
};

int pcapng_put_statistics(struct pcapng *to,
			  const struct pcapng_statistics *statistics);

#endif
