/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Where packets go. */
#include "sink.h"

int sink_put(struct sink *sink, const uint8_t *head, size_t head_len,
	     const struct packet_payload *payload, const char *comment)
{
	size_t room = sink->snap_len > head_len ? sink->snap_len - head_len : 0;
	const struct iovec iov[2] = {
		{ (void *)(uintptr_t)head, head_len },
		{ (void *)(uintptr_t)payload->octets,
		  payload->kept < room ? payload->kept : room },
	};
	const struct pcapng_packet packet = {
		.interface = sink->interface,
		.ns = sink->ns,
		.direction = sink->direction,
		.drop_cnt = sink->drop_cnt,
		.comment = comment,
		.len = (uint32_t)(head_len + payload->len),
	};
	int ret = pcapng_put_packet(sink->to, &packet, iov, 2);

	if (ret < 0)
		return ret;
	sink->written_cnt++;
	sink->drop_cnt = 0;
	return 0;
}
