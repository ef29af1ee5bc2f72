/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What comes from processes of this host, for a UD QP. */
#include "take.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "util/env.h"
#include "util/log.h"
#include "deliver.h"
#include "engine/engine.h"
#include "engine/hot.h"
#include "engine/sockets.h"
#include "os/fd.h"
#include "os/stat.h"
#include "os/stranger.h"
#include "peer.h"
#include "qp/rq.h"
#include "qp/state.h"
#include "send.h"

/* Datagrams that one pass takes: others have their turn. */
#define TAKE_MAX 64
/* How often a shared receive queue is looked at that was empty. */
#define TAKE_SRQ_NS (200 * NS_PER_US)
/* How often a socket without its name tries to get it. */
#define TAKE_NAME_NS (10 * NS_PER_MS)

/* ---- without a receive --------------------------------------------------- */

/* Threads that post receives ring from now on, or do not any more. */
static void ud_await_recv(struct rnic_ud *ud, bool is_awaited)
{
	atomic_store_explicit(&ud->qp->is_rnr, is_awaited,
			      memory_order_relaxed);
	/* Pairs with the fence in rnic_qp_ring_rq(). */
	atomic_thread_fence(memory_order_seq_cst);
	rnic_engine_set_events(ud->engine, &ud->source,
			       is_awaited ? 0 : EPOLLIN);
}

static void ud_begin_wait(struct rnic_ud *ud, uint64_t now_ns)
{
	ud->recv = RNIC_UD_WAIT;
	ud->wait_end_ns = now_ns + RNIC_FULL_NS;
	ud_await_recv(ud, true);
}

static void ud_end_wait(struct rnic_ud *ud, enum rnic_ud_recv next)
{
	if (ud->recv == RNIC_UD_WAIT)
		ud_await_recv(ud, false);
	ud->recv = next;
}

/* There is no receive.  Return: whether the datagram waits for one. */
static bool ud_waits_for_recv(struct rnic_ud *ud)
{
	uint64_t now_ns = rnic_engine_now_ns(ud->engine);

	if (ud->recv == RNIC_UD_TAKE) {
		ud_begin_wait(ud, now_ns);
		if (rnic_rq_next_len(ud->qp))
			return false; /* it has come in between */
	}
	if (now_ns >= ud->wait_end_ns)
		return false;
	rnic_engine_deadline(ud->engine, &ud->source.due,
			     ud->qp->srq ? now_ns + TAKE_SRQ_NS
					 : ud->wait_end_ns);
	return true;
}

/*
 * There is a datagram.  Without a receive it waits for a bounded time, since
 * the receiver may be about to post one; then it is lost, as all others until
 * there is one.
 * Return: whether it is to be taken now, to be delivered or lost.
 */
static bool ud_may_take(struct rnic_ud *ud)
{
	if (!rnic_rq_next_len(ud->qp) && ud->recv != RNIC_UD_LOSE &&
	    ud_waits_for_recv(ud))
		return false;
	ud_end_wait(ud, rnic_rq_next_len(ud->qp) ? RNIC_UD_TAKE : RNIC_UD_LOSE);
	return true;
}

/* ---- the socket ---------------------------------------------------------- */

/* Somebody will send much, or often. */
static int inbox_make(struct rnic_ud *ud)
{
	struct rnic_host_name name = rnic_host_name_waker(ud->qp->num);
	int rc, wake_fd;

	if (ud->inbox_fd >= 0)
		return 0;
	wake_fd = rnic_fd_spare(rnic_host_open(&name));
	if (wake_fd < 0)
		return wake_fd;
	rc = rnic_inbox_new(&ud->inbox, &ud->inbox_fd);
	if (rc == 0) {
		ud->inbox_fd = rnic_fd_own(ud->inbox_fd);
		rc = ud->inbox_fd < 0
			     ? ud->inbox_fd
			     : rnic_engine_add_wake(ud->engine, &ud->source,
						    wake_fd);
	}
	if (rc == 0) {
		ud->waker_fd = wake_fd;
		return 0;
	}
	rnic_stranger_close(wake_fd);
	rnic_inbox_unmap(&ud->inbox);
	rnic_fd_close(ud->inbox_fd);
	ud->inbox_fd = -1;
	return rc;
}

/* Without an inbox, its datagrams come by the socket. */
static void inbox_give(struct rnic_ud *ud, struct rnic_stranger *to)
{
	if (util_settings()->local != UTIL_LOCAL_OFF &&
	    rnic_stranger_is_own(to) && inbox_make(ud) == 0)
		(void)rnic_host_give(ud->source.fd, to, ud->qp->num,
				     ud->inbox_fd);
}

/* The next message has a descriptor.  Return: 0; -EPROTO. */
static int socket_take_given(struct rnic_ud *ud)
{
	uint32_t num;
	int fd = rnic_host_recv_given(ud->source.fd, &num);

	if (fd < 0)
		return fd;
	rnic_peer_given(ud, num, fd);
	return 0;
}

/* Return: 0: one message is taken; -EAGAIN; -EPROTO. */
static int socket_take_one(struct rnic_ud *ud)
{
	_Alignas(struct rnic_host_head) uint8_t buf[RNIC_HOST_MAX];
	const struct rnic_host_head *head = (const void *)buf;
	struct rnic_stranger from;
	ssize_t len = rnic_host_recv(ud->source.fd, buf, &from);

	if (len == -EPROTO)
		return socket_take_given(ud);
	if (len < 0 && len != -EBADMSG)
		return -EAGAIN;
	if (len < 0)
		rnic_stat_count(ud->engine->stat, RNIC_STAT_ud_bad, 1);
	else if (head->magic == RNIC_HOST_ASK)
		inbox_give(ud, &from);
	else
		rnic_ud_deliver(ud, USIW_CARRIER_UNIX, head, head + 1,
				(uint32_t)((size_t)len - sizeof(*head)));
	return 0;
}

static void ud_resume_at(struct rnic_ud *ud, uint64_t ns)
{
	rnic_engine_deadline(ud->engine, &ud->source.due, ns);
}

static void resume_later(struct rnic_ud *ud)
{
	ud_resume_at(ud, rnic_engine_now_ns(ud->engine) + TAKE_NAME_NS);
}

/* A stranger has passed descriptors to one of the two sockets.  It is looked at
 * again when there was time to drop them. */
static void drop_given(struct rnic_ud *ud, int fd)
{
	uint64_t now_ns = rnic_engine_now_ns(ud->engine);

	if (now_ns >= ud->drop_ns) {
		util_info("rnic",
			  "%s: a process of this host passes descriptors",
			  RNIC_QP_NAME(ud->qp));
		rnic_stranger_drop(fd);
		ud->drop_ns = now_ns + RNIC_STRANGER_DROP_NS;
	}
	ud_resume_at(ud, ud->drop_ns);
}

/* Return: whether it has its name. */
static bool socket_name(struct rnic_ud *ud)
{
	struct rnic_host_name name = rnic_host_name_qp(ud->qp->num);
	int fd = rnic_host_open(&name), old = ud->source.fd;

	if (fd < 0)
		return false;
	if (rnic_engine_change_fd(ud->engine, &ud->source, fd) < 0) {
		rnic_fd_close(fd);
		return false;
	}
	rnic_fd_close(old);
	ud->is_nameless = false;
	return true;
}

static void sockets_watch(struct rnic_ud *ud)
{
	struct rnic_source *source = &ud->source;

	if (source->has_wake && source->wake_fd < 0 &&
	    rnic_engine_change_wake_fd(ud->engine, source, ud->waker_fd) < 0)
		resume_later(ud);
	if (ud->recv != RNIC_UD_WAIT)
		rnic_engine_set_events(ud->engine, source, EPOLLIN);
}

void rnic_ud_resume(struct rnic_ud *ud)
{
	if (ud->is_nameless && !socket_name(ud))
		resume_later(ud);
	if (rnic_engine_now_ns(ud->engine) < ud->drop_ns)
		ud_resume_at(ud, ud->drop_ns);
	else
		sockets_watch(ud);
}

void rnic_ud_drop_wakes(struct rnic_ud *ud)
{
	(void)rnic_engine_change_wake_fd(ud->engine, &ud->source, -1);
	drop_given(ud, ud->waker_fd);
}

/* What is no datagram needs no receive.  *ret: -EAGAIN: there is nothing; 0: it
 * waits. */
static bool socket_may_take(struct rnic_ud *ud, int *ret)
{
	uint32_t magic;

	if (rnic_rq_next_len(ud->qp) && ud->recv == RNIC_UD_TAKE)
		return true;
	*ret = rnic_host_peek(ud->source.fd, &magic);
	return *ret == 0 && (magic == RNIC_HOST_ASK ||
			     magic == RNIC_HOST_GIVE || ud_may_take(ud));
}

/* Return: whether it is empty. */
static bool socket_take(struct rnic_ud *ud)
{
	int rc = 0;

	for (int i = 0; i < TAKE_MAX && !rnic_qp_is_over(ud->qp); i++) {
		if (!socket_may_take(ud, &rc))
			return rc < 0;
		rc = socket_take_one(ud);
		if (rc < 0)
			break;
		rnic_engine_note_octets(ud->engine, &ud->source);
	}
	if (rc == -EPROTO) {
		rnic_engine_set_events(ud->engine, &ud->source, 0);
		drop_given(ud, ud->source.fd);
	}
	return rc < 0;
}

/* ---- the inbox ----------------------------------------------------------- */

/* Return: false: the QP waits for receives, or has failed. */
static bool inbox_take_one(struct rnic_ud *ud, const void *datagram,
			   uint32_t len)
{
	struct rnic_host_head head;

	if (len < sizeof(head)) {
		rnic_stat_count(ud->engine->stat, RNIC_STAT_ud_bad, 1);
		rnic_inbox_drop(&ud->inbox);
		return true;
	}
	memcpy(&head, datagram, sizeof(head));
	if (head.flags & RNIC_HOST_BEHIND && !socket_take(ud))
		return false;
	if (rnic_qp_is_over(ud->qp) || !ud_may_take(ud))
		return false;
	rnic_ud_deliver(ud, USIW_CARRIER_INBOX, &head,
			(const uint8_t *)datagram + sizeof(head),
			len - (uint32_t)sizeof(head));
	rnic_inbox_drop(&ud->inbox);
	return !rnic_qp_is_over(ud->qp);
}

static void inbox_take(struct rnic_ud *ud)
{
	const void *datagram;
	uint32_t len;

	for (int i = 0; i < TAKE_MAX; i++) {
		datagram = rnic_inbox_peek(&ud->inbox, &len);
		if (!datagram || !inbox_take_one(ud, datagram, len))
			break;
		rnic_engine_note_octets(ud->engine, &ud->source);
	}
}

/* What the engine looks at.  While receives are awaited there is no news. */
static void inbox_watch(struct rnic_ud *ud)
{
	struct rnic_source *source = &ud->source;
	bool was_watched = source->in;

	source->in = ud->recv == RNIC_UD_WAIT ? NULL
					      : rnic_inbox_word(&ud->inbox);
	source->in_seen = ud->inbox.cnt ? UINT64_MAX /* some are left */
					: rnic_inbox_seen(&ud->inbox);
	if (source->in && !was_watched)
		rnic_engine_await(ud->engine, source);
}

/* ---- both ---------------------------------------------------------------- */

void rnic_ud_take(struct rnic_ud *ud)
{
	bool has_inbox = ud->source.has_wake;

	if (rnic_qp_is_over(ud->qp))
		return;
	if (!has_inbox || ud->is_socket_due)
		(void)socket_take(ud);
	ud->is_socket_due = false;
	if (!ud->source.has_wake || rnic_qp_is_over(ud->qp))
		return;
	inbox_take(ud);
	inbox_watch(ud);
}

bool rnic_ud_sleep(struct rnic_ud *ud)
{
	return ud->recv == RNIC_UD_WAIT ||
	       (!ud->inbox.cnt && rnic_inbox_sleep(&ud->inbox));
}
