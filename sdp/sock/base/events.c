/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See events.h. */
#include "events.h"

#include <poll.h>

#include "tcp-state.h"
#include "verbs/sdp-link.h"

short sdp_events_of(unsigned int state)
{
	short events = 0;

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

static short stream_events(const struct sdp_sock *sock)
{
	const struct sdp_link *link = sdp_sock_link(sock);

	if (!link)
		return POLLIN | POLLOUT | POLLRDHUP | POLLHUP | POLLERR;
	return sdp_events_of(sdp_link_state(link));
}

size_t sdp_sock_entering_len(const struct sdp_sock *sock)
{
	if (sdp_sock_state(sock) != SDP_SOCK_STARTING ||
	    !atomic_load_explicit(&sock->start.is_entering,
				  memory_order_relaxed))
		return 0;
	/* relaxed: the lock protects the octets */
	if (atomic_load_explicit(&sock->start.is_draining,
				 memory_order_relaxed))
		return 1;
	return sdp_tcp_unread(sock->tcp_fd);
}

short sdp_sock_events(const struct sdp_sock *sock)
{
	short events;
	size_t len;

	if (sdp_sock_is_asking(sock))
		return 0;
	if (sdp_sock_state(sock) == SDP_SOCK_STARTING) {
		events = sdp_sock_early_len(sock) < SDP_EARLY_MAX ? POLLOUT : 0;
		len = sdp_sock_entering_len(sock);
		if (len > 0 && len >= (size_t)sock->options.rcvlowat)
			events |= POLLIN;
	} else {
		events = stream_events(sock);
	}
	if (sdp_sock_is_rd_shut(sock))
		events |= POLLIN | POLLRDHUP;
	if (sdp_sock_is_wr_shut(sock)) {
		events |= POLLOUT;
		if (events & POLLRDHUP)
			events |= POLLHUP;
	}
	return events;
}

bool sdp_sock_is_over(const struct sdp_sock *sock)
{
	const struct sdp_link *link;

	if (sdp_sock_state(sock) != SDP_SOCK_STREAM)
		return false;
	link = sdp_sock_link(sock);
	return !link || (sdp_link_state(link) & (SDP_LINK_HUP | SDP_LINK_ERR));
}

unsigned int sdp_sock_holds(const struct sdp_sock *sock)
{
	const struct sdp_link *link = sdp_sock_link(sock);
	unsigned int holds = 0;

	if (atomic_load_explicit(&sock->error, memory_order_relaxed) ||
	    (link && (sdp_link_state(link) & SDP_LINK_ERR)))
		holds |= SDP_HOLDS_ERROR;
	if (sdp_sock_is_over(sock))
		holds |= SDP_HOLDS_OVER;
	if (sdp_sock_is_rd_shut(sock))
		holds |= SDP_HOLDS_RD_SHUT;
	if (sdp_sock_is_wr_shut(sock))
		holds |= SDP_HOLDS_WR_SHUT;
	return holds;
}

static int error_take(struct sdp_sock *sock)
{
	struct sdp_link *link = sdp_sock_link(sock);
	int err =
		atomic_exchange_explicit(&sock->error, 0, memory_order_relaxed);

	return err == 0 && link ? sdp_link_error(link) : err;
}

int sdp_sock_answer(struct sdp_sock *sock, enum sdp_call call)
{
	unsigned int holds = sdp_sock_holds(sock);
	int ret = sdp_answer_of(call, holds);
	int err = ret == SDP_ANSWER_ERROR ? error_take(sock) : 0;

	if (err)
		return -err;
	/* Another thread may have taken it. */
	return sdp_answer_of(call, holds & ~SDP_HOLDS_ERROR);
}

void sdp_sock_tell_again(struct sdp_sock *sock, int error)
{
	struct sdp_link *link = sdp_sock_link(sock);

	if (link)
		sdp_link_tell_again(link, error);
	else if (sdp_sock_state(sock) == SDP_SOCK_STREAM &&
		 sdp_link_is_end(error))
		atomic_store_explicit(&sock->error, error,
				      memory_order_relaxed);
}
