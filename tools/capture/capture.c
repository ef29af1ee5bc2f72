/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Records of what processes send and receive become packets of a capture. */
#include "capture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "flow.h"
#include "packet.h"
#include "sink.h"
#include "source.h"
#include "util/plain-text.h"

#define SEEN_SIZE 4096u /* a power of 2 */
#define DATAGRAM_MAX 65507u
#define NAME_SIZE 64

struct process {
	uint32_t pid;
	char name[NAME_SIZE];
	uint32_t file, interface; /* its number in that file */
	uint64_t begin_ns, received, written, dropped;
	uint64_t lost, lost_told;
};

struct capture {
	uint32_t snap_len;
	const struct capture_filter *filter;
	struct capture_counts counts;
	struct process *processes;
	int process_cnt;
	uint32_t file, interface_cnt;
	struct sources sources;
	/* Datagrams that one end has told, by what identifies them. */
	struct {
		uint64_t hash;
		bool is_sent;
	} seen[SEEN_SIZE];
};

struct capture *capture_new(uint32_t snap_len,
			    const struct capture_filter *filter)
{
	struct capture *cap = calloc(1, sizeof(*cap));

	if (!cap)
		return NULL;
	cap->snap_len = snap_len;
	cap->filter = filter;
	sources_init(&cap->sources);
	return cap;
}

const struct capture_counts *capture_counts(const struct capture *cap)
{
	return &cap->counts;
}

void capture_uncount(struct capture *cap, uint64_t cnt)
{
	cap->counts.written -= cnt;
	cap->counts.dropped += cnt;
}

void capture_free(struct capture *cap)
{
	if (!cap)
		return;
	sources_fini(&cap->sources);
	free(cap->processes);
	free(cap);
}

/* ---- processes and files ------------------------------------------------- */

int capture_add_process(struct capture *cap, uint32_t pid, const char *name)
{
	struct process *processes =
		realloc(cap->processes,
			sizeof(*processes) * (size_t)(cap->process_cnt + 1));
	struct process *process;

	if (!processes)
		return -ENOMEM;
	cap->processes = processes;
	process = &processes[cap->process_cnt];
	*process = (struct process){ .pid = pid };
	snprintf(process->name, sizeof(process->name), "%s", name);
	util_plain_text(process->name, sizeof(process->name));
	return cap->process_cnt++;
}

int capture_begin_file(struct capture *cap, struct pcapng *to)
{
	struct utsname uts = { 0 };
	char os[sizeof(uts.sysname) + sizeof(uts.release) + 1];
	int ret;

	(void)uname(&uts);
	snprintf(os, sizeof(os), "%s %s", uts.sysname, uts.release);
	ret = pcapng_put_section(to, os, "usiw capture " USIW_VERSION);
	if (ret < 0)
		return ret;
	cap->file++;
	cap->interface_cnt = 0;
	return 0;
}

/* The process's interface is in the file.  Return: 0; -ENOSPC. */
static int interface_put(struct capture *cap, struct process *process,
			 struct pcapng *to)
{
	char name[32], description[NAME_SIZE + 32];
	const struct pcapng_interface interface = {
		.name = name,
		.description = description,
		.filter = cap->filter->text,
		.snap_len = cap->snap_len,
	};
	int ret;

	if (process->file == cap->file)
		return 0;
	snprintf(name, sizeof(name), "usiw-%u", process->pid);
	snprintf(description, sizeof(description), "process %u (%s)",
		 process->pid, process->name);
	ret = pcapng_put_interface(to, &interface);
	if (ret < 0)
		return ret;
	process->file = cap->file;
	process->interface = cap->interface_cnt++;
	return 0;
}

void capture_end_file(struct capture *cap, uint64_t ns, struct pcapng *to)
{
	for (int i = 0; i < cap->process_cnt; i++) {
		const struct process *process = &cap->processes[i];
		const struct pcapng_statistics statistics = {
			.interface = process->interface,
			.begin_ns = process->begin_ns,
			.end_ns = ns,
			.received_cnt = process->received + process->lost,
			.lost_cnt = process->lost,
			.dropped_cnt = process->dropped,
			.written_cnt = process->written,
		};

		if (process->file == cap->file)
			(void)pcapng_put_statistics(to, &statistics);
	}
}

static void process_lost(struct capture *cap, struct process *process,
			 uint64_t lost)
{
	if (lost <= process->lost)
		return; /* nonsense, or nothing new */
	cap->counts.lost += lost - process->lost;
	process->lost = lost;
}

/* ---- packets ------------------------------------------------------------- */

#define COMMENT_SIZE 256

/* What is to be known of a stream, and changes seldom.  Return: NULL: it is
 * said already. */
static const char *comment_of(struct capture *cap, struct source *src,
			      const struct item *item,
			      char comment[COMMENT_SIZE])
{
	static const char *const carriers[] = {
		[USIW_CARRIER_TCP] = "TCP",
		[USIW_CARRIER_RING] = "shared memory, without CRC",
		[USIW_CARRIER_UDP] = "UDP",
		[USIW_CARRIER_UNIX] = "AF_UNIX",
		[USIW_CARRIER_INBOX] = "shared memory",
	};
	const struct process *process = &cap->processes[src->process];
	const struct usiw_packet *packet = &item->packet;
	const struct source_dir *dir = &src->dir[item_is_sent(item)];
	bool is_unreadable = item->flags & USIW_PACKET_UNREADABLE;
	char qp[32] = "no QP yet";

	if (dir->file == cap->file && dir->qp_num == packet->qp_num &&
	    dir->carrier == packet->carrier && !is_unreadable)
		return NULL;
	if (packet->qp_num)
		snprintf(qp, sizeof(qp), "QP 0x%x", packet->qp_num);
	snprintf(comment, COMMENT_SIZE,
		 "process %u (%s), %s, persona %s, %s by %s%s", process->pid,
		 process->name, qp,
		 item->flags & USIW_PACKET_CA ? "ca" : "rnic",
		 item_is_sent(item) ? "sent" : "received",
		 carriers[packet->carrier],
		 is_unreadable ? "; its memory could not be read" : "");
	return comment;
}

static void comment_told(struct capture *cap, struct source *src,
			 const struct item *item)
{
	struct source_dir *dir = &src->dir[item_is_sent(item)];

	dir->file = cap->file;
	dir->qp_num = item->packet.qp_num;
	dir->carrier = item->packet.carrier;
}

/* Return: 0; -ENOSPC. */
static int sink_begin(struct capture *cap, const struct source *src,
		      const struct item *item, struct sink *sink,
		      struct pcapng *to)
{
	struct process *process = &cap->processes[src->process];
	int ret = interface_put(cap, process, to);

	*sink = (struct sink){
		.to = to,
		.file = cap->file,
		.interface = process->interface,
		.snap_len = cap->snap_len,
		.ns = item->ns,
		.direction = item_is_sent(item) ? PCAPNG_OUT : PCAPNG_IN,
		.drop_cnt = process->lost - process->lost_told,
	};
	return ret;
}

/* @ret: 1: written; 0: not to be written; -errno. */
static void sink_end(struct capture *cap, struct source *src,
		     const struct sink *sink, int ret)
{
	struct process *process = &cap->processes[src->process];

	if (ret < 0) {
		process->dropped++;
		cap->counts.dropped++;
	} else if (ret > 0) {
		process->lost_told = process->lost;
		process->written += sink->written_cnt;
		cap->counts.written += sink->written_cnt;
	}
}

static void unit_write(struct capture *cap, struct source *src,
		       const struct item *item, struct pcapng *to)
{
	int side = src->side;
	struct flow_unit unit = {
		.side = item_is_sent(item) ? side : !side,
		.at = item->packet.at,
		.is_start = item->flags & USIW_PACKET_START,
		.has_crc = item->flags & USIW_PACKET_CRC,
		.payload = { item->octets, item->kept, item->packet.len },
	};
	char comment[COMMENT_SIZE];
	struct sink sink;
	int ret = sink_begin(cap, src, item, &sink, to);

	unit.has_markers[side] = item->flags & USIW_PACKET_TX_MARKERS;
	unit.has_markers[!side] = item->flags & USIW_PACKET_RX_MARKERS;
	sink.comment = comment_of(cap, src, item, comment);
	if (ret == 0)
		ret = flow_put(&src->known->flow, &unit, &sink);
	if (ret > 0)
		comment_told(cap, src, item);
	sink_end(cap, src, &sink, ret);
}

/* All that has come of a unit. */
static void piece_write(struct capture *cap, struct source *src, bool is_sent,
			struct pcapng *to)
{
	struct piece *piece = &src->dir[is_sent].piece;

	if (!piece->octets)
		return;
	unit_write(cap, src, &piece->item, to);
	piece_free(&cap->sources, piece);
}

/* ---- records ------------------------------------------------------------- */

static void unit_take(struct capture *cap, struct source *src,
		      const struct item *item, struct pcapng *to)
{
	const struct usiw_packet *packet = &item->packet;
	bool is_sent = item_is_sent(item);
	struct piece *piece = &src->dir[is_sent].piece;
	const struct usiw_packet *before = &piece->item.packet;
	uint32_t want = packet->len < cap->snap_len ? packet->len
						    : cap->snap_len;

	if (piece->octets &&
	    (before->at != packet->at || before->len != packet->len ||
	     piece->item.kept != packet->off))
		piece_write(cap, src, is_sent, to); /* a record was lost */
	if (piece->octets) {
		if (piece_add(piece, item))
			piece_write(cap, src, is_sent, to);
	} else if (packet->off == 0 &&
		   (item->kept >= want ||
		    !piece_new(&cap->sources, piece, item, want))) {
		unit_write(cap, src, item, to);
	}
}

static void fin_take(struct capture *cap, struct source *src,
		     const struct item *item, struct pcapng *to)
{
	bool is_sent = item_is_sent(item);
	struct sink sink;
	int ret;

	piece_write(cap, src, is_sent, to);
	ret = sink_begin(cap, src, item, &sink, to);
	if (ret == 0)
		ret = flow_fin(&src->known->flow,
			       is_sent ? src->side : !src->side, &sink);
	sink_end(cap, src, &sink, ret);
}

static void end_take(struct capture *cap, struct source *src, struct pcapng *to)
{
	piece_write(cap, src, false, to);
	piece_write(cap, src, true, to);
	source_free(&cap->sources, src);
}

/* From the destination's number on; the first octets of payload tell MADs from
 * each other.  The ICRC is another one if a port is. */
#define SEEN_FROM 5u
#define SEEN_MIN 20u /* BTH and DETH */
#define SEEN_MAX 84u
#define ICRC_SIZE 4u

/* Has the other end told this datagram? */
static bool datagram_is_seen(struct capture *cap, const struct item *item)
{
	const struct usiw_packet *packet = &item->packet;
	bool is_sent = item_is_sent(item);
	uint64_t hash = SOURCE_HASH;
	uint32_t len = packet->len, slot;

	if (item->kept < SEEN_MIN || len < SEEN_MIN + ICRC_SIZE)
		return false;
	len = len - ICRC_SIZE < SEEN_MAX ? len - ICRC_SIZE : SEEN_MAX;
	if (item->kept < len)
		return false;
	hash = source_hash(hash, is_sent ? packet->own : packet->peer, 16);
	hash = source_hash(hash, is_sent ? packet->peer : packet->own, 16);
	hash = source_hash(hash, item->octets + SEEN_FROM, len - SEEN_FROM);
	slot = hash % SEEN_SIZE;
	if (cap->seen[slot].hash == hash && cap->seen[slot].is_sent != is_sent)
		return true;
	cap->seen[slot].hash = hash;
	cap->seen[slot].is_sent = is_sent;
	return false;
}

/* Return: as flow_put(). */
static int datagram_put(const struct item *item, struct sink *sink)
{
	const struct usiw_packet *packet = &item->packet;
	const struct packet_payload payload = { item->octets, item->kept,
						packet->len };
	struct packet_end own = source_end(packet->own, packet->own_port);
	struct packet_end peer = source_end(packet->peer, packet->peer_port);
	const struct packet_udp udp = {
		.from = item_is_sent(item) ? own : peer,
		.to = item_is_sent(item) ? peer : own,
		.tclass = packet->tclass,
		.hop_limit = packet->hop_limit,
		.ip_id = packet->ip_id,
		.flow_label = packet->flow_label,
	};
	uint8_t head[PACKET_HEAD_MAX];
	int ret = sink_put(sink, head, packet_udp_put(head, &udp, &payload),
			   &payload, sink->comment);

	return ret < 0 ? ret : 1;
}

static void datagram_take(struct capture *cap, struct source *src,
			  const struct item *item, struct pcapng *to)
{
	char comment[COMMENT_SIZE];
	struct sink sink;
	int ret;

	if (datagram_is_seen(cap, item))
		return;
	ret = sink_begin(cap, src, item, &sink, to);
	sink.comment = comment_of(cap, src, item, comment);
	if (ret == 0)
		ret = datagram_put(item, &sink);
	if (ret > 0)
		comment_told(cap, src, item);
	sink_end(cap, src, &sink, ret);
}

/* Return: whether the record means something. */
static bool record_decode(const struct usiw_record *record, size_t len,
			  struct item *ret_item)
{
	const size_t head = sizeof(*record) + sizeof(ret_item->packet);
	const struct usiw_packet *packet = &ret_item->packet;
	uint32_t max = record->kind == USIW_PACKET_DATAGRAM ? DATAGRAM_MAX
							    : PACKET_TCP_MAX;

	if (len < head || record->kind > USIW_PACKET_DATAGRAM)
		return false;
	memcpy(&ret_item->packet, record + 1, sizeof(ret_item->packet));
	ret_item->flags = record->flags;
	ret_item->ns = record->ns;
	ret_item->octets = (const uint8_t *)record + head;
	ret_item->kept = (uint32_t)(len - head);
	return packet->len <= max && packet->off <= packet->len &&
	       len - head <= packet->len - packet->off &&
	       packet->carrier <= USIW_CARRIER_INBOX;
}

static bool filter_fits(const struct capture_filter *filter,
			const struct usiw_packet *packet)
{
	return (!filter->qp_num || filter->qp_num == packet->qp_num) &&
	       (!filter->port || filter->port == packet->own_port ||
		filter->port == packet->peer_port) &&
	       (!filter->has_peer ||
		memcmp(filter->peer, packet->peer, 16) == 0);
}

void capture_take(struct capture *cap, int process,
		  const struct usiw_record *record, size_t len, uint64_t lost,
		  struct pcapng *to)
{
	struct process *from = &cap->processes[process];
	struct source *src;
	struct item item;

	process_lost(cap, from, lost);
	if (!record_decode(record, len, &item)) {
		cap->counts.bad++;
		return;
	}
	if (!filter_fits(cap->filter, &item.packet))
		return;
	if (!from->begin_ns)
		from->begin_ns = item.ns;
	from->received++;
	src = source_get(&cap->sources, process,
			 record->kind == USIW_PACKET_DATAGRAM, &item);
	if (!src)
		cap->counts.dropped++;
	else if (record->kind == USIW_PACKET_UNIT)
		unit_take(cap, src, &item, to);
	else if (record->kind == USIW_PACKET_FIN)
		fin_take(cap, src, &item, to);
	else if (record->kind == USIW_PACKET_END)
		end_take(cap, src, to);
	else
		datagram_take(cap, src, &item, to);
}

void capture_end_process(struct capture *cap, int process, uint64_t lost,
			 struct pcapng *to)
{
	struct source *src, *next;

	process_lost(cap, &cap->processes[process], lost);
	for (src = TAILQ_FIRST(&cap->sources.by_age); src; src = next) {
		next = TAILQ_NEXT(src, age);
		if (src->process == process)
			end_take(cap, src, to);
	}
}
