/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* To which connection a stream belongs, and units that come in pieces. */
#include "test.h"

#include <string.h>

#include "capture/source.h"
#include "util/v4-mapped.h"

static struct sources sources;

static int setup(void **state)
{
	(void)state;
	sources_init(&sources);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sources_fini(&sources);
	assert_int_equal(sources.cnt, 0);
	assert_int_equal(sources.piece_octets, 0);
	return 0;
}

#define SOURCE_CASE(name) CASE_WITH(name, setup, teardown)

/* From one end of the connection of two ports. */
static struct item item_of(uint64_t stream, bool is_initiator, uint16_t port)
{
	struct item item = {
		.packet = { .stream = stream,
			    .own_port = is_initiator ? port : 5000,
			    .peer_port = is_initiator ? 5000 : port },
		.flags = is_initiator ? USIW_PACKET_INITIATOR : 0,
	};

	util_v4_map(item.packet.own, (const uint8_t[]){ 127, 0, 0, 1 });
	util_v4_map(item.packet.peer, (const uint8_t[]){ 127, 0, 0, 1 });
	return item;
}

static struct source *get(int process, uint64_t stream, bool is_initiator,
			  uint16_t port)
{
	struct item item = item_of(stream, is_initiator, port);
	struct source *src = source_get(&sources, process, false, &item);

	assert_non_null(src);
	return src;
}

SOURCE_CASE(both_ends_have_one_connection)
{
	struct source *a = get(0, 1, true, 4000), *b = get(1, 1, false, 4000);

	assert_ptr_not_equal(a, b);
	assert_ptr_equal(a->known, b->known);
	assert_int_equal(a->side, 0);
	assert_int_equal(b->side, 1);
	assert_int_equal(a->known->flow.end[0].port, 4000);
	assert_int_equal(a->known->flow.end[1].port, 5000);
	assert_ptr_equal(get(0, 1, true, 4000), a);
	assert_ptr_not_equal(get(0, 2, true, 4001)->known, a->known);
}

SOURCE_CASE(both_ends_may_be_in_one_process)
{
	struct source *a = get(0, 1, true, 4000), *b = get(0, 2, false, 4000);

	assert_ptr_equal(a->known, b->known);
}

SOURCE_CASE(a_port_that_is_used_again_is_another_connection)
{
	struct source *a = get(0, 1, true, 4000), *b = get(1, 1, false, 4000);
	struct known_flow *old = b->known;
	struct source *c;

	source_free(&sources, a);
	c = get(0, 2, true, 4000);
	assert_ptr_not_equal(c->known, old);
	/* The other end of the old one still belongs to it. */
	assert_ptr_equal(get(1, 1, false, 4000)->known, old);
	assert_ptr_equal(get(1, 2, false, 4000)->known, c->known);
}

SOURCE_CASE(datagrams_are_apart_from_streams)
{
	struct item item = item_of(7, true, 4000);
	struct source *stream = get(0, 7, true, 4000);
	struct source *datagrams = source_get(&sources, 0, true, &item);

	assert_ptr_not_equal(stream, datagrams);
	assert_null(datagrams->known);
	assert_ptr_equal(source_get(&sources, 0, true, &item), datagrams);
}

SOURCE_CASE(forgets_what_has_been_silent_for_longest)
{
	struct source *first = get(0, 0, true, 1);
	uint32_t cnt = 1;

	for (uint64_t i = 1; sources.cnt == i; i++) {
		get(0, i, true, (uint16_t)(i + 1));
		cnt++;
		if (i == 10)
			assert_ptr_equal(get(0, 0, true, 1), first);
	}
	assert_int_equal(cnt, 65537);
	assert_int_equal(sources.cnt, 65536);
	assert_ptr_equal(TAILQ_LAST(&sources.by_age, source_age)->known,
			 get(0, 65536, true, 1)->known);
	/* 1 is forgotten; 0 had news. */
	assert_ptr_equal(get(0, 0, true, 1), first);
}

SOURCE_CASE(a_unit_comes_in_pieces)
{
	const uint8_t octets[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct item item = { .octets = octets, .kept = 3, .ns = 1 };
	struct piece piece = { 0 };

	assert_true(piece_new(&sources, &piece, &item, 6));
	item.octets = octets + 3;
	item.kept = 2;
	assert_false(piece_add(&piece, &item));
	item.octets = octets + 5;
	item.kept = 3; /* more than is wanted */
	item.ns = 9;
	item.flags = USIW_PACKET_UNREADABLE | USIW_PACKET_CA;
	assert_true(piece_add(&piece, &item));
	assert_int_equal(piece.item.kept, 6);
	assert_memory_equal(piece.item.octets, octets, 6);
	assert_int_equal(piece.item.ns, 9);
	assert_int_equal(piece.item.flags, USIW_PACKET_UNREADABLE);
	piece_free(&sources, &piece);
	piece_free(&sources, &piece);
}

SOURCE_CASE(units_in_pieces_have_a_limit)
{
	static struct piece pieces[8192];
	const struct item item = { .kept = 0, .octets = (uint8_t[1]){ 0 } };
	size_t cnt = 0;

	while (cnt < ARRAY_LEN(pieces) &&
	       piece_new(&sources, &pieces[cnt], &item, 65495))
		cnt++;
	assert_in_range(cnt, 4096, 4100);
	for (size_t i = 0; i < cnt; i++)
		piece_free(&sources, &pieces[i]);
}
