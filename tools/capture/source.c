/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What is known of the streams of processes. */
#include "source.h"

#include <stdlib.h>
#include <string.h>

/* Of all processes. */
#define SOURCE_MAX 65536u
/* Octets of units that are not whole. */
#define PIECES_MAX (256u << 20)

uint64_t source_hash(uint64_t hash, const void *octets, size_t len)
{
	const uint8_t *p = octets;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ p[i]) * 0x100000001b3u;
	return hash;
}

struct packet_end source_end(const uint8_t addr[16], uint16_t port)
{
	struct packet_end end = { .port = port };

	memcpy(end.addr, addr, 16);
	return end;
}

void sources_init(struct sources *sources)
{
	memset(sources, 0, sizeof(*sources));
	TAILQ_INIT(&sources->by_age);
}

void sources_fini(struct sources *sources)
{
	while (!TAILQ_EMPTY(&sources->by_age))
		source_free(sources, TAILQ_FIRST(&sources->by_age));
}

/* ---- units --------------------------------------------------------------- */

bool piece_new(struct sources *sources, struct piece *piece,
	       const struct item *item, uint32_t want)
{
	piece->octets = sources->piece_octets < PIECES_MAX ? malloc(want)
							   : NULL;
	if (!piece->octets)
		return false;
	memcpy(piece->octets, item->octets, item->kept);
	piece->want = want;
	piece->item = *item;
	piece->item.octets = piece->octets;
	sources->piece_octets += want;
	return true;
}

bool piece_add(struct piece *piece, const struct item *item)
{
	uint32_t kept = piece->item.kept, more = item->kept;

	if (more > piece->want - kept)
		more = piece->want - kept;
	memcpy(piece->octets + kept, item->octets, more);
	piece->item.kept = kept + more;
	piece->item.flags |= item->flags & USIW_PACKET_UNREADABLE;
	piece->item.ns = item->ns;
	return piece->item.kept == piece->want;
}

void piece_free(struct sources *sources, struct piece *piece)
{
	if (!piece->octets)
		return;
	sources->piece_octets -= piece->want;
	free(piece->octets);
	piece->octets = NULL;
}

/* ---- connections --------------------------------------------------------- */

static struct known_flow_list *flows_of(struct sources *sources,
					const struct packet_end end[2])
{
	uint64_t hash = SOURCE_HASH;

	for (int side = 0; side < 2; side++) {
		hash = source_hash(hash, end[side].addr, 16);
		hash = source_hash(hash, &end[side].port,
				   sizeof(end[side].port));
	}
	return &sources->flows[hash % SOURCE_TABLE_SIZE];
}

static bool end_is(const struct packet_end *a, const struct packet_end *b)
{
	return a->port == b->port && memcmp(a->addr, b->addr, 16) == 0;
}

static void flow_unlist(struct known_flow *known)
{
	if (known->is_listed)
		LIST_REMOVE(known, link);
	known->is_listed = false;
}

static void flow_put_ref(struct known_flow *known)
{
	if (!known || --known->ref_cnt)
		return;
	flow_unlist(known);
	free(known);
}

static struct known_flow *flow_new(struct sources *sources,
				   struct known_flow_list *list,
				   const struct packet_end end[2])
{
	struct known_flow *known = calloc(1, sizeof(*known));

	if (!known)
		return NULL;
	flow_init(&known->flow, end, ++sources->flow_cnt);
	LIST_INSERT_HEAD(list, known, link);
	known->is_listed = true;
	return known;
}

/*
 * The connection between these ends.  A side that had a stream there and has
 * another one now is that of another connection.  Return: NULL: no memory.
 */
static struct known_flow *flow_get(struct sources *sources,
				   const struct packet_end end[2], int side)
{
	struct known_flow_list *list = flows_of(sources, end);
	struct known_flow *known;

	LIST_FOREACH(known, list, link)
	{
		if (end_is(&known->flow.end[0], &end[0]) &&
		    end_is(&known->flow.end[1], &end[1]))
			break;
	}
	if (known && known->had[side]) {
		flow_unlist(known);
		known = NULL;
	}
	if (!known)
		known = flow_new(sources, list, end);
	if (!known)
		return NULL;
	known->had[side] = true;
	known->ref_cnt++;
	return known;
}

/* ---- sources ------------------------------------------------------------- */

static struct source *source_new(struct sources *sources,
				 const struct item *item)
{
	const struct usiw_packet *packet = &item->packet;
	struct source *src = calloc(1, sizeof(*src));
	struct packet_end end[2];

	if (!src)
		return NULL;
	src->side = !(item->flags & USIW_PACKET_INITIATOR);
	end[src->side] = source_end(packet->own, packet->own_port);
	end[!src->side] = source_end(packet->peer, packet->peer_port);
	src->known = flow_get(sources, end, src->side);
	if (src->known)
		return src;
	free(src);
	return NULL;
}

void source_free(struct sources *sources, struct source *src)
{
	piece_free(sources, &src->dir[0].piece);
	piece_free(sources, &src->dir[1].piece);
	flow_put_ref(src->known);
	LIST_REMOVE(src, link);
	TAILQ_REMOVE(&sources->by_age, src, age);
	sources->cnt--;
	free(src);
}

static struct source_list *list_of(struct sources *sources, int process,
				   uint64_t stream)
{
	uint64_t hash = source_hash(SOURCE_HASH, &stream, sizeof(stream));

	hash = source_hash(hash, &process, sizeof(process));
	return &sources->table[hash % SOURCE_TABLE_SIZE];
}

struct source *source_get(struct sources *sources, int process,
			  bool is_datagrams, const struct item *item)
{
	uint64_t stream = item->packet.stream;
	struct source_list *list = list_of(sources, process, stream);
	struct source *src;

	LIST_FOREACH(src, list, link)
	{
		if (src->process == process && src->stream == stream &&
		    src->is_datagrams == is_datagrams)
			break;
	}
	if (src) {
		TAILQ_REMOVE(&sources->by_age, src, age);
		TAILQ_INSERT_TAIL(&sources->by_age, src, age);
		return src;
	}
	if (sources->cnt == SOURCE_MAX)
		source_free(sources, TAILQ_FIRST(&sources->by_age));
	src = is_datagrams ? calloc(1, sizeof(*src))
			   : source_new(sources, item);
	if (!src)
		return NULL;
	src->process = process;
	src->is_datagrams = is_datagrams;
	src->stream = stream;
	LIST_INSERT_HEAD(list, src, link);
	TAILQ_INSERT_TAIL(&sources->by_age, src, age);
	sources->cnt++;
	return src;
}
