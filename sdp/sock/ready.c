/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See ready.h. */
#include "ready.h"

#include <poll.h>

#include "epoll.h"
#include "shadow.h"
#include "verbs/sdp-link.h"

static short stream_events(const struct sdp_sock *sock)
{
	unsigned int state;
	short events = 0;

	if (!sock->link)
		return POLLIN | POLLOUT | POLLRDHUP | POLLHUP | POLLERR;
	state = sdp_link_state(sock->link);
	if (state & SDP_LINK_IN)
		events |= POLLIN;
	if (state & SDP_LINK_OUT)
		events |= POLLOUT;
	if (state & SDP_LINK_PRI)
		events |= POLLPRI;
	if (state & SDP_LINK_RDHUP)
		events |= POLLIN | POLLRDHUP;
	if (state & SDP_LINK_HUP)
		events |= POLLIN | POLLOUT | POLLRDHUP | POLLHUP;
	if (state & SDP_LINK_ERR)
		events |= POLLIN | POLLOUT | POLLERR;
	return events;
}

short sdp_sock_events(const struct sdp_sock *sock)
{
	short events;

	if (sdp_sock_state(sock) == SDP_SOCK_STARTING)
		events = sock->early_len < SDP_EARLY_MAX ? POLLOUT : 0;
	else
		events = stream_events(sock);
	if (sock->is_rd_shut)
		events |= POLLIN | POLLRDHUP;
	if (sock->is_wr_shut)
		events |= POLLOUT;
	if (sock->is_wr_shut && (events & POLLRDHUP))
		events |= POLLHUP;
	return events;
}

bool sdp_sock_is_over(const struct sdp_sock *sock)
{
	if (sdp_sock_state(sock) != SDP_SOCK_STREAM)
		return false;
	return !sock->link ||
	       (sdp_link_state(sock->link) & (SDP_LINK_HUP | SDP_LINK_ERR));
}

void sdp_sock_show(struct sdp_sock *sock, int fd, bool is_arrival)
{
	struct sdp_shadow *shadow = &sock->shadow;

	util_lock(&shadow->lock);
	if (!sock->is_relay && (shadow->is_watched || shadow->sleep_cnt > 0))
		sdp_shadow_show(shadow, fd, sdp_sock_events(sock), is_arrival);
	util_unlock(&shadow->lock);
}

void sdp_sock_watch(struct sdp_sock *sock, int fd)
{
	struct sdp_shadow *shadow = &sock->shadow;
	bool has_edges, is_any = sdp_watch_any(sock, &has_edges);

	util_lock(&shadow->lock);
	shadow->is_watched = is_any;
	shadow->has_edges = has_edges;
	util_unlock(&shadow->lock);
	if (is_any)
		sdp_sock_show(sock, fd, false);
}

void sdp_sock_sleep_begin(struct sdp_sock *sock, int fd)
{
	struct sdp_shadow *shadow = &sock->shadow;

	util_lock(&shadow->lock);
	shadow->sleep_cnt++;
	if (!sock->is_relay)
		sdp_shadow_show(shadow, fd, sdp_sock_events(sock), false);
	util_unlock(&shadow->lock);
}

void sdp_sock_sleep_end(struct sdp_sock *sock)
{
	struct sdp_shadow *shadow = &sock->shadow;

	util_lock(&shadow->lock);
	shadow->sleep_cnt--;
	util_unlock(&shadow->lock);
}

void sdp_sock_notify(void *arg, unsigned int state, unsigned int news)
{
	(void)state;
	sdp_sock_show(arg, -1, news & SDP_LINK_IN);
}
