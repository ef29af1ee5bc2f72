/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What is known of the streams of the processes that are observed: to which
 * connection a stream belongs, and which of its units are not whole yet.
 */
#ifndef SOURCE_H
#define SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "abi/usiw-packet.h"
#include "flow.h"

#define SOURCE_TABLE_SIZE 4096u /* a power of 2 */

/* A connection, and whether each side has been one that is observed. */
struct known_flow {
	LIST_ENTRY(known_flow) link;
	struct flow flow;
	uint32_t ref_cnt;
	bool is_listed;
	bool had[2];
};

/* What a record says. */
struct item {
	struct usiw_packet packet;
	uint16_t flags; /* enum usiw_packet_flags */
	uint64_t ns;
	const uint8_t *octets;
	uint32_t kept; /* octets that are there */
};

static inline bool item_is_sent(const struct item *item)
{
	return item->flags & USIW_PACKET_SENT;
}

/* A unit of which the first octets have come. */
struct piece {
	uint8_t *octets; /* NULL: there is none */
	uint32_t want;	 /* of them */
	struct item item;
};

/* A direction: the unit that is not whole, and what the last comment has
 * said. */
struct source_dir {
	struct piece piece;
	uint32_t file, qp_num;
	uint8_t carrier;
};

/* A stream, as one of its ends tells it; or the datagrams of a queue pair. */
struct source {
	LIST_ENTRY(source) link;
	TAILQ_ENTRY(source) age;
	int process;
	bool is_datagrams;
	uint64_t stream;
	struct known_flow *known; /* NULL: datagrams */
	int side;		  /* of the process in @known */
	struct source_dir dir[2]; /* what has come; what was sent */
};

LIST_HEAD(source_list, source);
LIST_HEAD(known_flow_list, known_flow);

struct sources {
	uint32_t flow_cnt; /* so far */
	uint32_t cnt;
	size_t piece_octets;
	TAILQ_HEAD(source_age, source) by_age; /* the longest silent first */
	struct source_list table[SOURCE_TABLE_SIZE];
	struct known_flow_list flows[SOURCE_TABLE_SIZE];
};

void sources_init(struct sources *sources);
/* Frees all. */
void sources_fini(struct sources *sources);

/*
 * The source of a record.  If there are very many, the one that has been silent
 * for longest is forgotten.
 * Return: NULL: no memory.
 */
struct source *source_get(struct sources *sources, int process,
			  bool is_datagrams, const struct item *item);
void source_free(struct sources *sources, struct source *src);

/* Keeps the first octets of a unit that is to have @want.  Return: false: no
 * memory. */
bool piece_new(struct sources *sources, struct piece *piece,
	       const struct item *item, uint32_t want);
/* Adds what follows, as far as octets are wanted.  Return: whether all are
 * there. */
bool piece_add(struct piece *piece, const struct item *item);
void piece_free(struct sources *sources, struct piece *piece);

/* FNV-1a: beginning with SOURCE_HASH. */
#define SOURCE_HASH 0xcbf29ce484222325u
uint64_t source_hash(uint64_t hash, const void *octets, size_t len);

struct packet_end source_end(const uint8_t addr[16], uint16_t port);

#endif
