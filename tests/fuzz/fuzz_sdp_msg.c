/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * SDP Messages and Port Mapper datagrams: an accepted message stays within its
 * octets, and its encoding decodes to the same message.
 */
#include "fuzz.h"

#include <string.h>

#include "msg/msg.h"
#include "pm/pm-msg.h"

static void check_msg(const uint8_t *buf, size_t size, enum sdp_layout layout)
{
	uint8_t first[SDP_HEADER_MAX], second[SDP_HEADER_MAX];
	struct sdp_msg msg, again;
	uint8_t *out;
	size_t n;

	if (sdp_msg_decode(buf, size, layout, &msg))
		return;
	n = sdp_msg_encode(&msg, layout, first);
	fuzz_assert(n == sdp_mid_header_size(msg.mid));
	fuzz_assert(n + msg.payload_len == size);
	fuzz_assert(!msg.payload_len || sdp_mid_may_have_payload(msg.mid));
	out = malloc(size);
	fuzz_assert(out);
	memcpy(out, first, n);
	memcpy(out + n, buf + n, msg.payload_len);
	fuzz_assert(!sdp_msg_decode(out, size, layout, &again));
	fuzz_assert(sdp_msg_encode(&again, layout, second) == n);
	fuzz_assert(!memcmp(first, second, n));
	free(out);
}

static void check_pm(const uint8_t *buf, size_t size)
{
	uint8_t first[SDP_PM_SIZE], second[SDP_PM_SIZE];
	struct sdp_pm_msg msg, again;

	if (sdp_pm_msg_decode(buf, size, &msg))
		return;
	sdp_pm_msg_encode(&msg, first);
	fuzz_assert(!sdp_pm_msg_decode(first, sizeof(first), &again));
	sdp_pm_msg_encode(&again, second);
	fuzz_assert(!memcmp(first, second, sizeof(first)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *buf = malloc(size ? size : 1);
	struct sdp_msg msg;

	fuzz_assert(buf);
	memcpy(buf, data, size);
	check_msg(buf, size, SDP_LAYOUT_FIGURE);
	check_msg(buf, size, SDP_LAYOUT_MIRRORED);
	if (!sdp_msg_decode_padded(buf, size, SDP_LAYOUT_FIGURE, &msg))
		fuzz_assert(sdp_mid_header_size(msg.mid) + msg.payload_len <=
			    size);
	check_pm(buf, size);
	free(buf);
	return 0;
}
