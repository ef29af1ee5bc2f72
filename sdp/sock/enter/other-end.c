/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See other-end.h. */
#include "other-end.h"

#include "pm/pm-client.h"
#include "pm/registry.h"

/* Half of what a side waits for a message of the other one. */
#define SENDS 2
#define FIRST_MS 150

static int mapper_ask(const union sdp_addr *own, const union sdp_addr *peer,
		      uint16_t *ret_port)
{
	static const struct sdp_pm_options options = {
		.send_cnt = SENDS,
		.timeout_ms = FIRST_MS,
		.is_connection = true,
	};
	struct sdp_pm_result result;
	union sdp_addr to;
	int ret = sdp_pm_query(&peer->sa, &own->sa, &options, -1, &result);

	if (ret < 0)
		return ret;
	if (result.outcome == SDP_PM_NO_ANSWER)
		return -EADDRNOTAVAIL;
	if (result.outcome == SDP_PM_DENIED)
		return -ENOENT;
	to = sdp_addr_of(&result.sdp);
	/* The other end has no other address. */
	if (!sdp_addr_is_same_host(&to, peer))
		return -ENOENT;
	*ret_port = sdp_addr_port(&to);
	return 0;
}

int sdp_other_end_find(const union sdp_addr *own, const union sdp_addr *peer,
		       uint16_t *ret_port)
{
	int ret = sdp_registry_find_end(&own->sa, &peer->sa, ret_port);

	return ret == -ENOTCONN ? mapper_ask(own, peer, ret_port) : ret;
}
