/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* See count.h. */
#include "count.h"

#include <string.h>

#include "util/log.h"
#include "verbs/sdp-link.h"

/* Number of calls and octets between two reads of the link's counters. It
 * limits the error after a process is killed. */
#define CALLS 256u
#define OCTETS_SHIFT 20

void sdp_count_open(struct sdp_sock *sock, int fd)
{
	struct sdp_stat_sock *stat = sdp_stat_sock_add();

	util_info("sdp", "descriptor %d: SDP begins, as the %s", fd,
		  sock->is_accepting ? "server" : "client");
	sdp_stat_sock_name(stat, &sock->local.sa, &sock->peer.sa);
	sdp_stat_set(stat, SDP_STAT_fd, (uint32_t)fd);
	sdp_stat_set(stat, SDP_STAT_state,
		     sock->is_accepting ? SDP_STAT_STATE_hello_wait
					: SDP_STAT_STATE_hello_sent);
	sdp_stat_set(stat, SDP_STAT_role,
		     sock->is_accepting ? SDP_STAT_ROLE_SERVER
					: SDP_STAT_ROLE_CLIENT);
	sdp_stat_set(stat, SDP_STAT_carrier, SDP_STAT_CARRIER_STREAM);
	sdp_stat_count(sock->is_accepting ? SDP_STAT_accepts
					  : SDP_STAT_connects);
	/* The socket may have had another connection. relaxed: these are only
	 * counters. */
	atomic_store_explicit(&sock->tx_octets, 0, memory_order_relaxed);
	atomic_store_explicit(&sock->rx_octets, 0, memory_order_relaxed);
	atomic_store_explicit(&sock->call_cnt, 0, memory_order_relaxed);
	sock->stat = stat;
}

static void counter_put(struct sdp_stat_sock *stat,
			enum sdp_stat_counter counter, uint64_t value)
{
	/* relaxed: a counter orders nothing */
	atomic_store_explicit(&stat->counter[counter], value,
			      memory_order_relaxed);
}

static uint64_t rest(uint64_t all, uint64_t a, uint64_t b)
{
	return all > a + b ? all - a - b : 0;
}

/* The octets sent and received by the program are exact. The link divides them
 * by the method of transfer. What it has not classified yet counts as
 * copied. */
static void update(struct sdp_sock *sock, struct sdp_link_stats *ret)
{
	struct sdp_stat_sock *stat = sock->stat;

	memset(ret, 0, sizeof(*ret));
	if (!stat || !sdp_sock_link(sock))
		return;
	sdp_link_get_stats(sdp_sock_link(sock), ret);
	counter_put(stat, SDP_STAT_tx_read, ret->tx_read);
	counter_put(stat, SDP_STAT_tx_write, ret->tx_write);
	counter_put(stat, SDP_STAT_tx_transaction, ret->tx_carried);
	counter_put(stat, SDP_STAT_tx_bcopy,
		    rest(sock->tx_octets, ret->tx_read,
			 ret->tx_write + ret->tx_carried));
	counter_put(stat, SDP_STAT_tx_messages, ret->tx_msgs);
	counter_put(stat, SDP_STAT_rx_read, ret->rx_read);
	counter_put(stat, SDP_STAT_rx_write, ret->rx_write);
	counter_put(stat, SDP_STAT_rx_transaction, ret->rx_carried);
	counter_put(stat, SDP_STAT_rx_bcopy,
		    rest(sock->rx_octets, ret->rx_read,
			 ret->rx_write + ret->rx_carried));
	counter_put(stat, SDP_STAT_rx_messages, ret->rx_msgs);
	if (ret->carrier == SDP_CM_PRIV)
		sdp_stat_set(stat, SDP_STAT_carrier, SDP_STAT_CARRIER_CM_PRIV);
	sdp_stat_set(stat, SDP_STAT_state, SDP_STAT_STATE_established);
	sdp_stat_set(stat, SDP_STAT_send_mode, ret->send_mode);
	sdp_stat_set(stat, SDP_STAT_recv_mode, ret->recv_mode);
	sdp_stat_set(stat, SDP_STAT_send_credits, ret->send_credit);
	sdp_stat_set(stat, SDP_STAT_recv_credits, ret->recv_credit);
	sdp_stat_set(stat, SDP_STAT_relay, sock->relay.is_on);
}

void sdp_count_update(struct sdp_sock *sock)
{
	struct sdp_link_stats link;

	update(sock, &link);
}

static void call_count(struct sdp_sock *sock, _Atomic uint64_t *counter,
		       size_t octets)
{
	/* relaxed: a counter orders nothing; an occasional update is enough */
	uint64_t old = atomic_fetch_add_explicit(counter, octets,
						 memory_order_relaxed);
	uint32_t calls = atomic_fetch_add_explicit(&sock->call_cnt, 1,
						   memory_order_relaxed);

	if (calls % CALLS == 0 ||
	    old >> OCTETS_SHIFT != (old + octets) >> OCTETS_SHIFT)
		sdp_count_update(sock);
}

void sdp_count_send(struct sdp_sock *sock, size_t octets)
{
	call_count(sock, &sock->tx_octets, octets);
}

void sdp_count_recv(struct sdp_sock *sock, size_t octets)
{
	call_count(sock, &sock->rx_octets, octets);
}

/* Other processes hold the socket, and may do so until this process ends. */
void sdp_count_relay(struct sdp_sock *sock, size_t octets, bool is_send)
{
	if (sock->stat)
		sdp_stat_add(sock->stat, SDP_STAT_relayed, octets);
	if (is_send)
		sdp_count_send(sock, octets);
	else
		sdp_count_recv(sock, octets);
	sdp_count_update(sock);
}

void sdp_count_close(struct sdp_sock *sock)
{
	struct sdp_link_stats link;

	if (!sock->stat)
		return;
	update(sock, &link);
	if (link.is_failed)
		sdp_stat_count(SDP_STAT_resets);
	sdp_stat_sock_remove(sock->stat);
	sock->stat = NULL;
}
