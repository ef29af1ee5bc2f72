/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What a stream sends and receives, for a command that captures it. */
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#include "local/local.h"
#include "os/addr.h"
#include "os/packet.h"

/* A direction: the unit that is under way, a start frame or an FPDU. */
struct tap_dir {
	uint64_t next; /* octets that were looked at, or lost */
	bool is_synced;
	bool is_start;
	uint8_t head_len;
	uint8_t head[SMPA_SIZE_OCTETS]; /* until its length is known */
	uint64_t at;
	uint32_t len; /* 0: not known yet */
	uint32_t done;
	uint32_t phase; /* of its first octet, for smpa_fpdu_size() */
};

struct rnic_tap {
	struct usiw_packet packet; /* with what is the same in all */
	uint16_t flags;		   /* of markers */
	bool has_crc[2];	   /* received; sent */
	struct tap_dir dir[2];
};

/* A number for each stream of the process; forked children go on with it. */
static _Atomic uint64_t tap_stream_cnt;

static struct rnic_tap *tap_of(struct rnic_stream *stream)
{
	struct sockaddr_storage own = { 0 }, peer = { 0 };
	struct rnic_tap *tap = stream->tap;

	if (tap)
		return tap;
	tap = calloc(1, sizeof(*tap));
	if (!tap)
		return NULL;
	tap->packet.stream = atomic_fetch_add_explicit(&tap_stream_cnt, 1,
						       memory_order_relaxed);
	rnic_addr_of_socket(stream->source.fd, &own, &peer);
	rnic_packet_set_end(tap->packet.own, &tap->packet.own_port, &own);
	rnic_packet_set_end(tap->packet.peer, &tap->packet.peer_port, &peer);
	for (int i = 0; i < 2; i++)
		tap->dir[i].next = UINT64_MAX;
	stream->tap = tap;
	return tap;
}

static uint64_t rx_octets(const struct rnic_stream *stream)
{
	return stream->rx_octets +
	       (stream->local ? rnic_local_received(stream->local) : 0);
}

void rnic_tap_begin(const struct rnic_stream *stream, bool is_sent,
		    struct rnic_tap_look *ret_look)
{
	ret_look->at = is_sent ? stream->tx_octets : rx_octets(stream);
	ret_look->tcp_octets = stream->rx_octets;
}

/* ---- records ------------------------------------------------------------- */

static void flag_set(uint16_t *flags, uint16_t flag, bool is_set)
{
	*flags = is_set ? *flags | flag : *flags & (uint16_t)~flag;
}

/* How FPDUs are, as far as it is known. */
static uint16_t tap_flags(struct rnic_tap *tap,
			  const struct rnic_stream *stream, bool is_sent)
{
	struct smpa_place place;
	uint16_t flags;

	if (smpa_conn_tx_place(stream->conn, &place) == 0) {
		flag_set(&tap->flags, USIW_PACKET_TX_MARKERS,
			 place.has_markers);
		tap->has_crc[true] = place.has_crc;
	}
	if (smpa_conn_rx_place(stream->conn, &place) == 0) {
		flag_set(&tap->flags, USIW_PACKET_RX_MARKERS,
			 place.has_markers);
		tap->has_crc[false] = place.has_crc;
	}
	flags = tap->flags | rnic_packet_flags();
	flag_set(&flags, USIW_PACKET_SENT, is_sent);
	flag_set(&flags, USIW_PACKET_INITIATOR, stream->is_initiator);
	flag_set(&flags, USIW_PACKET_CRC, tap->has_crc[is_sent]);
	return flags;
}

static void tap_record(struct rnic_stream *stream, enum usiw_packet_kind kind,
		       bool is_sent, uint64_t at)
{
	struct rnic_tap *tap;

	if (!rnic_observed(USIW_OBSERVE_PACKETS))
		return;
	tap = tap_of(stream);
	if (!tap)
		return;
	tap->packet.at = at;
	tap->packet.len = 0;
	tap->packet.off = 0;
	rnic_packet_record(kind, tap_flags(tap, stream, is_sent), &tap->packet,
			   NULL, 0, NULL, 0);
}

void rnic_tap_fin(struct rnic_stream *stream)
{
	tap_record(stream, USIW_PACKET_FIN, true, stream->tx_octets);
}

void rnic_tap_free(struct rnic_stream *stream)
{
	if (!stream->tap)
		return;
	tap_record(stream, USIW_PACKET_END, true, stream->tx_octets);
	free(stream->tap);
	stream->tap = NULL;
}

/* ---- units --------------------------------------------------------------- */

/* Octets that have moved at once. */
struct chunk {
	struct rnic_stream *stream;
	bool is_sent;
	bool has_markers;
	uint16_t flags;
	uint32_t snap_len;
	struct rnic_cursor cursor;
	size_t len; /* from there on */
};

static void unit_begin(struct tap_dir *dir, uint64_t at, uint32_t phase)
{
	dir->at = at;
	dir->len = 0;
	dir->done = 0;
	dir->head_len = 0;
	dir->phase = phase;
}

/*
 * Where the first unit begins.  Return: octets of the chunk before it; more
 * than there are: the place is not known.
 */
static size_t dir_sync(struct tap_dir *dir, const struct chunk *chunk,
		       uint64_t at)
{
	const struct smpa_conn *conn = chunk->stream->conn;
	struct smpa_place place = { 0 };
	int ret;

	dir->is_start = at == 0;
	if (!dir->is_start) {
		ret = chunk->is_sent ? smpa_conn_tx_place(conn, &place)
				     : smpa_conn_rx_place(conn, &place);
		if (ret < 0)
			return SIZE_MAX;
	}
	if (place.rest < chunk->len) {
		unit_begin(dir, at + place.rest, place.phase);
		dir->is_synced = true;
	}
	return place.rest;
}

/* Its first octets are in the chunk.  Return: false: more are needed; or it is
 * none. */
static bool unit_measure(struct tap_dir *dir, struct chunk *chunk)
{
	struct rnic_cursor look = chunk->cursor;
	size_t more = sizeof(dir->head) - dir->head_len;
	int len;

	if (more > chunk->len)
		more = chunk->len;
	if (rnic_cursor_copy(&look, dir->head + dir->head_len, more) < 0) {
		dir->is_synced = false;
		return false;
	}
	more += dir->head_len;
	len = dir->is_start ? smpa_start_frame_size(dir->head, more)
			    : smpa_fpdu_size(dir->head, more, dir->phase,
					     chunk->has_markers);
	if (len > 0) {
		dir->len = (uint32_t)len;
		return true;
	}
	dir->head_len = (uint8_t)more;
	dir->is_synced = len == 0;
	return false;
}

/* What the chunk has of the unit. */
static void unit_record(struct tap_dir *dir, struct rnic_tap *tap,
			const struct chunk *chunk, size_t piece)
{
	uint32_t max = dir->len < chunk->snap_len ? dir->len : chunk->snap_len;
	size_t left = max > dir->done ? max - dir->done : 0;
	size_t head = dir->done ? 0 : dir->head_len;
	uint16_t flags = chunk->flags;

	if (!left)
		return;
	if (head > left)
		head = left;
	left -= head;
	tap->packet.at = dir->at;
	tap->packet.len = dir->len;
	tap->packet.off = dir->done;
	if (dir->is_start)
		flags |= USIW_PACKET_START;
	rnic_packet_record(USIW_PACKET_UNIT, flags, &tap->packet, dir->head,
			   head, &chunk->cursor, piece < left ? piece : left);
}

static void unit_end(struct tap_dir *dir)
{
	unit_begin(dir, dir->at + dir->len,
		   dir->is_start ? 0 : dir->phase + dir->len);
	dir->is_start = false;
}

static void chunk_walk(struct tap_dir *dir, struct rnic_tap *tap,
		       struct chunk *chunk)
{
	while (chunk->len > 0) {
		size_t piece;

		if (!dir->len && !unit_measure(dir, chunk))
			return;
		piece = dir->len - dir->done - (dir->done ? 0 : dir->head_len);
		if (piece > chunk->len)
			piece = chunk->len;
		unit_record(dir, tap, chunk, piece);
		if (!dir->done)
			dir->done = dir->head_len;
		dir->done += (uint32_t)piece;
		chunk->len -= piece;
		(void)rnic_cursor_skip(&chunk->cursor, piece);
		if (dir->done == dir->len)
			unit_end(dir);
	}
}

static void chunk_look(struct chunk *chunk, struct rnic_tap *tap, uint64_t at)
{
	struct tap_dir *dir = &tap->dir[chunk->is_sent];
	size_t len = chunk->len, skip = 0;

	if (dir->next != at)
		dir->is_synced = false;
	if (!dir->is_synced)
		skip = dir_sync(dir, chunk, at);
	if (skip < len) {
		chunk->len -= skip;
		(void)rnic_cursor_skip(&chunk->cursor, skip);
		chunk_walk(dir, tap, chunk);
	}
	dir->next = at + len;
}

static enum usiw_carrier carrier_of(const struct rnic_stream *stream,
				    bool is_sent,
				    const struct rnic_tap_look *look)
{
	bool is_tcp = !stream->local ||
		      (is_sent ? !rnic_local_sends(stream->local)
			       : stream->rx_octets != look->tcp_octets);

	return is_tcp ? USIW_CARRIER_TCP : USIW_CARRIER_RING;
}

void rnic_tap_end(struct rnic_stream *stream, bool is_sent,
		  const struct rnic_tap_look *look, const struct iovec *iov,
		  int cnt, ssize_t len)
{
	struct chunk chunk = {
		.stream = stream,
		.is_sent = is_sent,
		.cursor = { iov, cnt, 0 },
		.len = len > 0 ? (size_t)len : 0,
	};
	struct rnic_tap *tap;

	if (len == 0 && !is_sent)
		tap_record(stream, USIW_PACKET_FIN, false, look->at);
	if (len <= 0 || !cnt)
		return;
	chunk.snap_len = rnic_observer_snap_len(USIW_OBSERVE_PACKETS);
	tap = chunk.snap_len ? tap_of(stream) : NULL;
	if (!tap)
		return;
	chunk.flags = tap_flags(tap, stream, is_sent);
	chunk.has_markers = chunk.flags & (is_sent ? USIW_PACKET_TX_MARKERS
						   : USIW_PACKET_RX_MARKERS);
	if (stream->qp)
		tap->packet.qp_num = stream->qp->num;
	tap->packet.carrier = (uint8_t)carrier_of(stream, is_sent, look);
	chunk_look(&chunk, tap, look->at);
}
