/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * State bits, the notification of the socket layer, and sleeping threads.
 */
#include "notice.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cancel.h"
#include "inbox.h"
#include "verbs/dev/high.h"

/* ---- the end of the process ---- */

static _Atomic bool is_ending;
static _Thread_local bool goes_on;

void sdp_verbs_end(void)
{
	goes_on = true;
	atomic_store_explicit(&is_ending, true, memory_order_relaxed);
}

void sdp_verbs_own_thread(void)
{
	goes_on = true;
}

bool sdp_notice_is_ending(void)
{
	return atomic_load_explicit(&is_ending, memory_order_relaxed);
}

void sdp_notice_stay(void)
{
	while (sdp_notice_is_ending() && !goes_on)
		pause();
}

/* ---- the descriptor ---- */

static _Atomic int kick_fd = -1;

int sdp_notice_fd(void)
{
	int fd = atomic_load_explicit(&kick_fd, memory_order_acquire);
	int other = -1;

	if (fd >= 0)
		return fd;
	fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (fd < 0)
		return -1;
	sdp_high_keep(&fd);
	/* release: pairs with the acquire above */
	if (atomic_compare_exchange_strong_explicit(&kick_fd, &other, fd,
						    memory_order_acq_rel,
						    memory_order_acquire))
		return fd;
	sdp_high_release(fd);
	util_sys_close(fd);
	return other;
}

void sdp_notice_fd_drain(void)
{
	uint64_t cnt;

	(void)!util_sys_read(sdp_notice_fd(), &cnt, sizeof(cnt));
}

void sdp_notice_kick(void)
{
	uint64_t one = 1;

	(void)!util_sys_write(sdp_notice_fd(), &one, sizeof(one));
}

/* ---- deadlines ---- */

/* A thread is not woken for a deadline if it wakes up at most this much later
 * anyway. */
#define KICK_SLACK_NS 2000000u

static _Atomic uint64_t wake_ns;

void sdp_notice_plan(uint64_t ns)
{
	/* seq_cst: pairs with sdp_notice_deadline() */
	atomic_store_explicit(&wake_ns, ns, memory_order_seq_cst);
}

void sdp_notice_deadline(struct sdp_dev *dev, uint64_t ns)
{
	uint64_t old =
		atomic_load_explicit(&dev->deadline, memory_order_seq_cst);
	uint64_t plan;

	while (ns < old && !atomic_compare_exchange_weak_explicit(
				   &dev->deadline, &old, ns,
				   memory_order_seq_cst, memory_order_seq_cst))
		;
	plan = atomic_load_explicit(&wake_ns, memory_order_seq_cst);
	if (plan > KICK_SLACK_NS && ns < plan - KICK_SLACK_NS)
		sdp_notice_kick();
}

void sdp_notice_forget(void)
{
	int fd = atomic_exchange_explicit(&kick_fd, -1, memory_order_relaxed);

	if (fd >= 0) {
		sdp_high_release(fd);
		util_sys_close(fd);
	}
	atomic_store_explicit(&is_ending, false, memory_order_relaxed);
}

/* ---- sleepers ---- */

static bool wake(struct sdp_dev *dev, struct sdp_waiter *w)
{
	uint64_t one = 1;

	/* seq_cst: pairs with fall_asleep() */
	if (atomic_exchange_explicit(&w->is_awake, 1, memory_order_seq_cst))
		return false;
	if (w->is_on_fd)
		(void)!util_sys_write(dev->wake_fd, &one, sizeof(one));
	else
		syscall(SYS_futex, &w->is_awake, FUTEX_WAKE_PRIVATE, INT_MAX,
			NULL, NULL, 0);
	return true;
}

bool sdp_notice_wake(struct sdp_dev *dev, struct sdp_link *link)
{
	struct sdp_waiter *w;
	bool was_any = false;

	util_lock(&dev->wait_lock);
	for (w = dev->waiters; w; w = w->next) {
		if (link ? w->link != link : w->is_on_fd)
			continue;
		if (!wake(dev, w))
			continue;
		was_any = true;
		if (link)
			continue;
		w->is_heir = true;
		break;
	}
	util_unlock(&dev->wait_lock);
	return was_any;
}

void sdp_notice_wake_all(struct sdp_dev *dev)
{
	util_lock(&dev->wait_lock);
	for (struct sdp_waiter *w = dev->waiters; w; w = w->next)
		wake(dev, w);
	util_unlock(&dev->wait_lock);
}

/* ---- the state ---- */

/* A reader gets the end, or an error, behind what is there. */
static bool is_rx_over(const struct sdp_link *link)
{
	return link_holds(link) &
	       (SDP_HOLDS_PEER_END | SDP_HOLDS_RD_SHUT | SDP_HOLDS_OVER);
}

static bool is_readable(const struct sdp_link *link)
{
	uint64_t octets;
	bool is_oob;
	struct sdp_piece piece;

	if (is_rx_over(link))
		return true;
	if (link->rx.zbuf.is_busy)
		return false;
	if (link->rx.fed)
		return true;
	octets = sdp_conn_readable(link->conn);
	if (link->rx.oob.has_kept && (link->opt.is_oobinline || octets > 0))
		return true;
	if (octets == 0)
		return false;
	if (sdp_conn_peek(link->conn, 0, &piece, &is_oob) != 1)
		return !link->rx.is_refused;
	/* The urgent octet is not data for a reader that has not reached the
	 * mark. */
	return octets > 1 || !is_oob || link->opt.is_oobinline ||
	       link->rx.oob.left_cnt > 1;
}

/* What can be read reaches rcvlowat. */
static bool is_enough(const struct sdp_link *link)
{
	return link->opt.rcvlowat <= 1 || is_rx_over(link) ||
	       sdp_inbox_len(link) >= link->opt.rcvlowat;
}

static bool is_writable(const struct sdp_link *link)
{
	if (link->end.is_conn_down || link->end.is_failed || link->tx.is_shut)
		return true;
	return link->tx.queued <
		       link->opt.send_bytes - link->opt.send_bytes / 4 &&
	       sdp_conn_send_room(link->conn) > 0;
}

static unsigned int state_now(const struct sdp_link *link, unsigned int s)
{
	if (s || link->end.is_failed || link->end.is_conn_down) {
		s |= is_readable(link) ? LINK_OCTETS : 0;
		s |= s & LINK_OCTETS && is_enough(link) ? SDP_LINK_IN : 0;
		s |= is_writable(link) ? SDP_LINK_OUT : 0;
	}
	if (link->rx.oob.has_octet)
		s |= SDP_LINK_PRI | SDP_LINK_URGENT;
	if (link_oob_is_awaited(&link->rx.oob))
		s |= SDP_LINK_URGENT;
	if (is_rx_over(link))
		s |= SDP_LINK_RDHUP;
	if (link_holds(link) & SDP_HOLDS_OVER)
		s |= SDP_LINK_HUP;
	if (link_holds(link) & SDP_HOLDS_ERROR)
		s |= SDP_LINK_ERR;
	if (!link->tx.queued && !link->tx.zbuf.is_busy)
		s |= SDP_LINK_DRAINED;
	if (link->end.is_conn_down)
		s |= SDP_LINK_CLOSED;
	if (sdp_conn_has_shut(link->conn))
		s |= LINK_SHUT;
	if (link->moving.is_up)
		s |= LINK_UP;
	if (link->moving.is_suspended && !link->qp)
		s |= LINK_BARE;
	if (link->post.is_confirmed)
		s |= LINK_CONFIRMED;
	if (!link->tx.zbuf.is_busy)
		s |= LINK_ZDONE;
	if (!link->rx.zbuf.is_busy)
		s |= LINK_RDONE;
	return s;
}

void sdp_notice_update(struct sdp_link *link, unsigned int news)
{
	unsigned int old = link_state(link);
	unsigned int state = state_now(link, (old | news) & LINK_STANDS);

	news = (old ^ state) | (news & state);
	if (!news)
		return;
	/* release: pairs with the acquire in link_state() */
	atomic_store_explicit(&link->state, state, memory_order_release);
	atomic_fetch_add_explicit(&link->change_cnt, 1, memory_order_release);
	if (news & ~LINK_TX_BITS)
		atomic_fetch_add_explicit(&link->rx_change_cnt, 1,
					  memory_order_release);
	if (link->notify)
		link->notify(link->notify_arg, state, news);
	/* Store the state, then read the counter. A sleeper adds itself, then
	 * reads the state (sdp_wait()). */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&link->waiter_cnt, memory_order_relaxed))
		sdp_notice_wake(link->dev, link);
}
