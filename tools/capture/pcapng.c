/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Blocks of a pcapng file. */
#include "pcapng.h"

#include <errno.h>
#include <string.h>

#include "util/iov.h"

#define BYTE_ORDER_MAGIC 0x1a2b3c4du
#define LINKTYPE_RAW 101u
#define RESOLUTION_NS 9u /* 10^-9 s */
#define PACKET_MAX (1u << 31)

enum block {
	BLOCK_SECTION = 0x0a0d0d0a,
	BLOCK_INTERFACE = 1,
	BLOCK_STATISTICS = 5,
	BLOCK_PACKET = 6,
};

enum option {
	OPT_END = 0,
	OPT_COMMENT = 1,
	OPT_SECTION_OS = 3,
	OPT_SECTION_APPLICATION = 4,
	OPT_IF_NAME = 2,
	OPT_IF_DESCRIPTION = 3,
	OPT_IF_RESOLUTION = 9,
	OPT_IF_FILTER = 11,
	OPT_PACKET_FLAGS = 2,
	OPT_PACKET_DROPS = 4,
	OPT_STAT_BEGIN = 2,
	OPT_STAT_END = 3,
	OPT_STAT_RECEIVED = 4,
	OPT_STAT_LOST = 5,
	OPT_STAT_DROPPED = 7,
	OPT_STAT_WRITTEN = 8,
};

/* A block in the making. */
struct block_writer {
	struct pcapng *to;
	size_t begin; /* of the block */
	size_t at;
	int error;
};

static void put(struct block_writer *w, const void *octets, size_t len)
{
	if (w->error)
		return;
	if (len > w->to->size - w->at) {
		w->error = -ENOSPC;
		return;
	}
	if (len)
		memcpy(w->to->octets + w->at, octets, len);
	w->at += len;
}

static void put16(struct block_writer *w, uint16_t value)
{
	put(w, &value, sizeof(value));
}

static void put32(struct block_writer *w, uint32_t value)
{
	put(w, &value, sizeof(value));
}

static void put_pad(struct block_writer *w)
{
	static const uint8_t zero[4];

	put(w, zero, -(w->at - w->begin) & 3);
}

static void block_begin(struct block_writer *w, struct pcapng *to,
			enum block type)
{
	*w = (struct block_writer){ .to = to, .begin = to->len, .at = to->len };
	put32(w, type);
	put32(w, 0); /* the length */
}

static int block_end(struct block_writer *w)
{
	uint32_t len = (uint32_t)(w->at - w->begin + sizeof(len));

	put32(w, len);
	if (w->error)
		return w->error;
	memcpy(w->to->octets + w->begin + 4, &len, sizeof(len));
	w->to->len = w->at;
	return 0;
}

static void put_option(struct block_writer *w, enum option code,
		       const void *value, size_t len)
{
	if (len > UINT16_MAX) {
		w->error = w->error ? w->error : -EMSGSIZE;
		return;
	}
	put16(w, (uint16_t)code);
	put16(w, (uint16_t)len);
	put(w, value, len);
	put_pad(w);
}

static void put_text(struct block_writer *w, enum option code, const char *text)
{
	if (text && *text)
		put_option(w, code, text, strlen(text));
}

static void put_count(struct block_writer *w, enum option code, uint64_t value)
{
	put_option(w, code, &value, sizeof(value));
}

/* The upper half comes first, whatever the byte order. */
static void put_time(struct block_writer *w, uint64_t ns)
{
	put32(w, (uint32_t)(ns >> 32));
	put32(w, (uint32_t)ns);
}

static void put_time_option(struct block_writer *w, enum option code,
			    uint64_t ns)
{
	const uint32_t halves[2] = { (uint32_t)(ns >> 32), (uint32_t)ns };

	put_option(w, code, halves, sizeof(halves));
}

int pcapng_put_section(struct pcapng *to, const char *os,
		       const char *application)
{
	const uint64_t len_unknown = UINT64_MAX;
	struct block_writer w;

	block_begin(&w, to, BLOCK_SECTION);
	put32(&w, BYTE_ORDER_MAGIC);
	put16(&w, 1); /* version 1.0 */
	put16(&w, 0);
	put(&w, &len_unknown, sizeof(len_unknown));
	put_text(&w, OPT_SECTION_OS, os);
	put_text(&w, OPT_SECTION_APPLICATION, application);
	put_option(&w, OPT_END, NULL, 0);
	return block_end(&w);
}

int pcapng_put_interface(struct pcapng *to,
			 const struct pcapng_interface *interface)
{
	const uint8_t resolution = RESOLUTION_NS;
	struct block_writer w;

	block_begin(&w, to, BLOCK_INTERFACE);
	put16(&w, LINKTYPE_RAW);
	put16(&w, 0);
	put32(&w, interface->snap_len);
	put_text(&w, OPT_IF_NAME, interface->name);
	put_text(&w, OPT_IF_DESCRIPTION, interface->description);
	put_option(&w, OPT_IF_RESOLUTION, &resolution, sizeof(resolution));
	if (interface->filter && *interface->filter) {
		uint8_t text[512] = { 0 }; /* kind 0: text */
		size_t len = strlen(interface->filter);

		if (len > sizeof(text) - 1)
			len = sizeof(text) - 1;
		memcpy(text + 1, interface->filter, len);
		put_option(&w, OPT_IF_FILTER, text, 1 + len);
	}
	put_option(&w, OPT_END, NULL, 0);
	return block_end(&w);
}

int pcapng_put_packet(struct pcapng *to, const struct pcapng_packet *packet,
		      const struct iovec *iov, int cnt)
{
	size_t kept = util_iov_len(iov, cnt);
	struct block_writer w;

	if (kept > packet->len || packet->len > PACKET_MAX)
		return -EMSGSIZE;
	block_begin(&w, to, BLOCK_PACKET);
	put32(&w, packet->interface);
	put_time(&w, packet->ns);
	put32(&w, (uint32_t)kept);
	put32(&w, packet->len);
	for (int i = 0; i < cnt; i++)
		put(&w, iov[i].iov_base, iov[i].iov_len);
	put_pad(&w);
	put_text(&w, OPT_COMMENT, packet->comment);
	if (packet->direction != PCAPNG_UNKNOWN) {
		const uint32_t flags = packet->direction;

		put_option(&w, OPT_PACKET_FLAGS, &flags, sizeof(flags));
	}
	if (packet->drop_cnt)
		put_count(&w, OPT_PACKET_DROPS, packet->drop_cnt);
	put_option(&w, OPT_END, NULL, 0);
	return block_end(&w);
}

int pcapng_put_statistics(struct pcapng *to,
			  const struct pcapng_statistics *statistics)
{
	struct block_writer w;

	block_begin(&w, to, BLOCK_STATISTICS);
	put32(&w, statistics->interface);
	put_time(&w, statistics->end_ns);
	put_time_option(&w, OPT_STAT_BEGIN, statistics->begin_ns);
	put_time_option(&w, OPT_STAT_END, statistics->end_ns);
	put_count(&w, OPT_STAT_RECEIVED, statistics->received_cnt);
	put_count(&w, OPT_STAT_LOST, statistics->lost_cnt);
	put_count(&w, OPT_STAT_DROPPED, statistics->dropped_cnt);
	put_count(&w, OPT_STAT_WRITTEN, statistics->written_cnt);
	put_option(&w, OPT_END, NULL, 0);
	return block_end(&w);
}
