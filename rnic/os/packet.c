/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Records of what the process sends and receives. */
#include "packet.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "util/env.h"
#include "util/v4-mapped.h"
#include "addr.h"
#include "guard.h"

/* ---- lists of memory ----------------------------------------------------- */

bool rnic_cursor_skip(struct rnic_cursor *cursor, size_t len)
{
	while (cursor->cnt > 0 && len >= cursor->iov->iov_len - cursor->off) {
		len -= cursor->iov->iov_len - cursor->off;
		cursor->iov++;
		cursor->cnt--;
		cursor->off = 0;
	}
	if (cursor->cnt > 0)
		cursor->off += len;
	return cursor->cnt > 0 || !len;
}

struct cursor_copy {
	struct rnic_cursor *cursor;
	uint8_t *to;
	size_t len;
};

/* Guarded. */
static void cursor_copy(void *arg)
{
	struct cursor_copy *copy = arg;
	struct rnic_cursor *cursor = copy->cursor;

	while (copy->len && cursor->cnt > 0) {
		const uint8_t *from = cursor->iov->iov_base;
		size_t piece = cursor->iov->iov_len - cursor->off;

		if (piece > copy->len)
			piece = copy->len;
		if (piece)
			memcpy(copy->to, from + cursor->off, piece);
		copy->to += piece;
		copy->len -= piece;
		(void)rnic_cursor_skip(cursor, piece);
	}
}

int rnic_cursor_copy(struct rnic_cursor *cursor, void *to, size_t len)
{
	struct rnic_cursor begin = *cursor;
	struct cursor_copy copy = { cursor, to, len };

	if (rnic_guard(cursor_copy, &copy) == 0)
		return 0;
	memset(to, 0, len);
	*cursor = begin;
	(void)rnic_cursor_skip(cursor, len);
	return -EFAULT;
}

/* ---- records ------------------------------------------------------------- */

void rnic_packet_record(enum usiw_packet_kind kind, uint16_t flags,
			const struct usiw_packet *packet, const void *head,
			size_t head_len, const struct rnic_cursor *cursor,
			size_t len)
{
	struct rnic_observer_record record;
	uint8_t *to;

	if (!rnic_observer_begin(USIW_OBSERVE_PACKETS, (uint16_t)kind,
				 (uint32_t)(sizeof(*packet) + head_len + len),
				 &record))
		return;
	to = record.payload;
	memcpy(to, packet, sizeof(*packet));
	to += sizeof(*packet);
	if (head_len)
		memcpy(to, head, head_len);
	if (len) {
		struct rnic_cursor at = *cursor;

		if (rnic_cursor_copy(&at, to + head_len, len) < 0)
			flags |= USIW_PACKET_UNREADABLE;
	}
	record.record->flags = flags;
	rnic_observer_end(USIW_OBSERVE_PACKETS, &record);
}

uint16_t rnic_packet_flags(void)
{
	return util_settings()->persona == UTIL_PERSONA_CA ? USIW_PACKET_CA : 0;
}

void rnic_packet_set_end(uint8_t ret_addr[16], uint16_t *ret_port,
			 const struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET)
		util_v4_map(ret_addr, rnic_addr_octets(addr));
	else if (addr->ss_family == AF_INET6)
		memcpy(ret_addr, rnic_addr_octets(addr), 16);
	*ret_port = ntohs(rnic_addr_port_be(addr));
}
