/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Encoding and decoding of Port Mapper messages (SDP-249).
 */
#include "pm/pm-msg.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "octets.h"

#define VER_SHIFT 6
#define TYPE_SHIFT 4
#define TYPE_MASK 0x3u
#define IPV_MASK 0xfu

static size_t addr_size(uint8_t ipv)
{
	return ipv == 4 ? 4 : 16;
}

void sdp_pm_msg_encode(const struct sdp_pm_msg *msg, uint8_t *out)
{
	size_t size = addr_size(msg->ipv);

	assert(msg->ipv == 4 || msg->ipv == 6);
	memset(out, 0, SDP_PM_SIZE);
	out[0] = (uint8_t)((msg->type & TYPE_MASK) << TYPE_SHIFT | msg->ipv);
	out[1] = msg->type == SDP_PM_ACCEPT ? msg->time : 0;
	octets_put16(out + 4, msg->ap_port);
	octets_put16(out + 6, msg->cp_port);
	octets_put64(out + 8, msg->handle);
	memcpy(out + 16, msg->cp_addr, size);
	memcpy(out + 32, msg->ap_addr, size);
}

int sdp_pm_msg_decode(const uint8_t *buf, size_t len,
		      struct sdp_pm_msg *ret_msg)
{
	uint8_t ipv;
	size_t size;

	if (len != SDP_PM_SIZE || buf[0] >> VER_SHIFT)
		return -EPROTO;
	ipv = buf[0] & IPV_MASK;
	if (ipv != 4 && ipv != 6) /* SDP-251 */
		return -EPROTO;
	size = addr_size(ipv);
	memset(ret_msg, 0, sizeof(*ret_msg));
	ret_msg->type = buf[0] >> TYPE_SHIFT & TYPE_MASK;
	ret_msg->ipv = ipv;
	ret_msg->time = ret_msg->type == SDP_PM_ACCEPT ? buf[1] : 0;
	ret_msg->ap_port = octets_get16(buf + 4);
	ret_msg->cp_port = octets_get16(buf + 6);
	ret_msg->handle = octets_get64(buf + 8);
	memcpy(ret_msg->cp_addr, buf + 16, size);
	memcpy(ret_msg->ap_addr, buf + 32, size);
	return 0;
}

uint64_t sdp_pm_time_ms(uint8_t time)
{
	if (time == SDP_PM_TIME_FOREVER)
		return UINT64_MAX;
	return time < 128 ? time * 250u : time * 1000u;
}
