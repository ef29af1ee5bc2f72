/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* One connection as packets of TCP. */
#include "flow.h"

#include <string.h>

/* An MPA frame without private data (RFC 5044, 7.1). */
#define START_SIZE 20u
#define START_FLAGS 16
#define START_MARKERS 0x80
#define START_CRC 0x40
#define START_REVISION 1

#define MADE_UP "made by usiw capture"

void flow_init(struct flow *flow, const struct packet_end end[2],
	       uint32_t number)
{
	memset(flow, 0, sizeof(*flow));
	for (int side = 0; side < 2; side++) {
		flow->end[side] = end[side];
		/* A port that is used again has other numbers. */
		flow->dir[side].seq = number * 0x9e3779b1u + (uint32_t)side;
	}
}

/* ---- packets ------------------------------------------------------------- */

static uint32_t dir_seq(const struct flow_dir *dir)
{
	return dir->has_base ? dir->base + (uint32_t)dir->next : dir->seq;
}

static int packet_put(const struct flow *flow, int side, uint32_t seq,
		      uint8_t flags, const struct packet_payload *payload,
		      struct sink *sink, const char *comment)
{
	const struct packet_tcp tcp = {
		.from = flow->end[side],
		.to = flow->end[!side],
		.seq = seq,
		.ack = flags & PACKET_ACK ? dir_seq(&flow->dir[!side]) : 0,
		.flags = flags,
	};
	uint8_t head[PACKET_HEAD_MAX];

	return sink_put(sink, head, packet_tcp_put(head, &tcp, payload),
			payload, comment);
}

/* ---- what comes before --------------------------------------------------- */

static const struct packet_payload nothing;

/* Both sides, beginning with the Initiator: SYN; its answer. */
static int handshake_put(const struct flow *flow, const uint32_t seq[2],
			 struct sink *sink)
{
	struct flow syn = *flow; /* with the numbers before the first octet */
	int ret;

	for (int side = 0; side < 2; side++)
		syn.dir[side] = (struct flow_dir){ .seq = seq[side] };
	ret = packet_put(&syn, 0, seq[0] - 1, PACKET_SYN, &nothing, sink,
			 MADE_UP);
	if (ret == 0)
		ret = packet_put(&syn, 1, seq[1] - 1, PACKET_SYN | PACKET_ACK,
				 &nothing, sink, MADE_UP);
	if (ret == 0)
		ret = packet_put(&syn, 0, seq[0], PACKET_ACK, &nothing, sink,
				 MADE_UP);
	return ret;
}

static int start_put(const struct flow *flow, const struct flow_unit *unit,
		     int side, uint32_t seq, struct sink *sink)
{
	uint8_t frame[START_SIZE] = { 0 };
	const struct packet_payload payload = { frame, sizeof(frame),
						sizeof(frame) };

	memcpy(frame, side ? "MPA ID Rep Frame" : "MPA ID Req Frame", 16);
	/* Who sends the frame says what it wants to receive. */
	if (unit->has_markers[!side])
		frame[START_FLAGS] |= START_MARKERS;
	if (unit->has_crc)
		frame[START_FLAGS] |= START_CRC;
	frame[START_FLAGS + 1] = START_REVISION;
	return packet_put(flow, side, seq, PACKET_PSH | PACKET_ACK, &payload,
			  sink, flow->reason);
}

/* Return: whether that side's start frame is to be made up before @unit.  The
 * Reply has a Request before it. */
static bool start_is_due(const struct flow *flow, const struct flow_unit *unit,
			 int side)
{
	if (flow->dir[side].has_start)
		return false;
	return unit->is_start ? side < unit->side : true;
}

/* Start frames that are made up stand right before the octets that come first,
 * and one behind the other. */
static int starts_put(struct flow *flow, const struct flow_unit *unit,
		      struct sink *sink)
{
	struct flow before = *flow;
	int ret = 0;

	for (int side = 0; side < 2; side++) {
		struct flow_dir *dir = &flow->dir[side];

		before.dir[side] = (struct flow_dir){ .seq = dir_seq(dir) };
		if (!start_is_due(flow, unit, side))
			continue;
		if (dir->has_base)
			before.dir[side].seq -= START_SIZE;
		else
			dir->seq += START_SIZE;
	}
	for (int side = 0; side < 2 && ret == 0; side++) {
		if (!start_is_due(flow, unit, side))
			continue;
		flow->dir[side].has_start = true;
		ret = start_put(&before, unit, side, before.dir[side].seq,
				sink);
		before.dir[side].seq += START_SIZE;
	}
	return ret;
}

/* Before the first packet of a flow in a file. */
static int introduce(struct flow *flow, const struct flow_unit *unit,
		     struct sink *sink)
{
	uint32_t seq[2];

	for (int side = 0; side < 2; side++) {
		struct flow_dir *dir = &flow->dir[side];

		dir->has_start = false;
		dir->has_fin = false;
		if (side == unit->side && dir->has_base)
			dir->next = unit->at;
		seq[side] = dir_seq(dir);
		if (dir->has_base && start_is_due(flow, unit, side))
			seq[side] -= START_SIZE;
	}
	flow->reason = flow->file ? MADE_UP ": the connection began in an "
					    "earlier file"
				  : MADE_UP ": the connection is older than "
					    "the capture, or its begin was "
					    "lost";
	flow->file = sink->file;
	return handshake_put(flow, seq, sink);
}

/* ---- what the connection carries ----------------------------------------- */

static int unit_put(struct flow *flow, const struct flow_unit *unit,
		    struct sink *sink)
{
	struct flow_dir *dir = &flow->dir[unit->side];
	int ret = 0;

	if (flow->file != sink->file)
		ret = introduce(flow, unit, sink);
	if (ret == 0)
		ret = starts_put(flow, unit, sink);
	if (!dir->has_base) {
		dir->base = dir->seq - (uint32_t)unit->at;
		dir->has_base = true;
	}
	dir->next = unit->at;
	if (ret == 0)
		ret = packet_put(flow, unit->side, dir_seq(dir),
				 PACKET_PSH | PACKET_ACK, &unit->payload, sink,
				 sink->comment);
	dir->next += unit->payload.len;
	dir->has_start |= unit->is_start;
	return ret;
}

int flow_put(struct flow *flow, const struct flow_unit *unit, struct sink *sink)
{
	const struct flow_dir *dir = &flow->dir[unit->side];
	const struct flow old = *flow;
	const struct sink old_sink = *sink;
	size_t len = sink->to->len;
	int ret;

	if (dir->has_base && unit->at < dir->next)
		return 0;
	ret = unit_put(flow, unit, sink);
	if (ret == 0)
		return 1;
	*flow = old;
	*sink = old_sink;
	sink->to->len = len;
	return ret;
}

int flow_fin(struct flow *flow, int side, struct sink *sink)
{
	struct flow_dir *dir = &flow->dir[side];
	int ret;

	if (dir->has_fin || flow->file != sink->file)
		return 0;
	ret = packet_put(flow, side, dir_seq(dir), PACKET_FIN | PACKET_ACK,
			 &nothing, sink, NULL);
	if (ret < 0)
		return ret;
	dir->has_fin = true;
	return 1;
}
